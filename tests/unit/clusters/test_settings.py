from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import Refused

NASTY = 'p"a\\ss\\"; word\'='
PLAINTEXT = ClientSettings("a:1,b:2")
PLAIN = ClientSettings("a:1", "SASL_PLAINTEXT", "PLAIN", "app", NASTY)
SCRAM = ClientSettings("a:1", "SASL_SSL", "SCRAM-SHA-512", "app", "swordfish", ca_file="/ca.pem")


@pytest.fixture
def mutual(tmp_path: Path) -> ClientSettings:
    for name in ("cert", "key"):
        (tmp_path / f"{name}.pem").write_text(f"-- {name} --", "ascii")
    return ClientSettings(
        "a:1", "SSL", ca_file="/ca.pem", certificate_file=str(tmp_path / "cert.pem"),
        key_file=str(tmp_path / "key.pem"), key_password="hush",
    )  # fmt: skip


def test_without_security_every_format_has_only_the_servers(mutual: ClientSettings) -> None:
    where = {"bootstrap.servers": "a:1,b:2", "security.protocol": "PLAINTEXT"}
    assert PLAINTEXT.librdkafka() == PLAINTEXT.java() == where
    assert PLAINTEXT.spark() == {f"kafka.{key}": value for key, value in where.items()}
    assert PLAINTEXT.kafka_python() == {"bootstrap_servers": ["a:1", "b:2"], "security_protocol": "PLAINTEXT"}


def test_scram_over_tls_in_librdkafkas_format() -> None:
    assert SCRAM.librdkafka() == {
        "bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "app", "sasl.password": "swordfish", "ssl.ca.location": "/ca.pem",
    }  # fmt: skip


def test_scram_over_tls_in_javas_and_sparks_format() -> None:
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="app" password="swordfish";'
    expected = {
        "bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": login, "ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem",
    }  # fmt: skip
    assert SCRAM.java() == expected
    assert SCRAM.java(prefix="source.") == {f"source.{key}": value for key, value in expected.items()}
    assert SCRAM.spark() == {f"kafka.{key}": value for key, value in expected.items()}


def test_mutual_tls_in_every_format(mutual: ClientSettings) -> None:
    assert mutual.librdkafka() == {
        "bootstrap.servers": "a:1", "security.protocol": "SSL", "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": mutual.certificate_file, "ssl.key.location": mutual.key_file,
        "ssl.key.password": "hush",
    }  # fmt: skip
    assert mutual.java() == {
        "bootstrap.servers": "a:1", "security.protocol": "SSL",
        "ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "-- cert --", "ssl.keystore.key": "-- key --",
        "ssl.key.password": "hush",
    }  # fmt: skip
    assert mutual.kafka_python()["ssl_certfile"] == mutual.certificate_file


def test_quotes_and_backslashes_in_a_password_are_escaped_only_for_java() -> None:
    assert PLAIN.jaas() == (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="app" password="p\\"a\\\\ss\\\\\\"; word\'=";'
    )
    assert PLAIN.librdkafka()["sasl.password"] == NASTY


def test_settings_of_a_connection_read_back_as_they_were_written(mutual: ClientSettings) -> None:
    for settings in (PLAINTEXT, PLAIN, SCRAM, mutual):
        assert ClientSettings.from_librdkafka(settings.librdkafka()) == settings


def test_both_names_of_the_mechanism_and_a_lower_case_protocol_are_accepted() -> None:
    config = {"bootstrap.servers": "a:1", "security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN",
              "sasl.username": "u", "sasl.password": "p", "group.id": "left out", "ssl.ca.location": ""}  # fmt: skip
    assert ClientSettings.from_librdkafka(config) == ClientSettings("a:1", "SASL_PLAINTEXT", "PLAIN", "u", "p")


def test_no_secret_is_shown(mutual: ClientSettings) -> None:
    shown = f"{PLAIN!r} {SCRAM!r} {mutual!r} {PLAIN}"
    assert not any(secret in shown for secret in (NASTY, repr(NASTY), "swordfish", "hush"))


SASL: dict[str, str | None] = {
    "bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
    "sasl.username": "u", "sasl.password": "p",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bootstrap.servers": ""}, "names no bootstrap.servers: write host:port, separated by commas"),
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS': write one of PLAINTEXT, SSL, SASL_"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism is 'GSSAPI', a login that is not supported: let the brokers"),
        ({"sasl.mechanism": None}, "SASL_SSL needs sasl.mechanism: write one of PLAIN, SCRAM-"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.client.id": "dr"},
            "sasl.mechanism is 'OAUTHBEARER', a login that is not supported: let the brokers take one of PLAIN, "
            "SCRAM-SHA-256, SCRAM-SHA-512 for this principal, or a TLS certificate (security.protocol SSL)",
        ),
        ({"sasl.password": ""}, "SASL_SSL needs sasl.username and sasl.password: set what is missing"),
        ({"sasl.username": ""}, "SASL_SSL needs sasl.username and sasl.password: set what is missing"),
        ({"ssl.key.location": "/k"}, "only one of ssl.certificate.location and ssl.key.location is set"),
        (
            {"security.protocol": "SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.scope": "s"},
            "the connection sets sasl.oauthbearer.scope, which is not supported",
        ),
        ({"ssl.key.pem": "-- key --"}, "the connection sets ssl.key.pem, which is not supported: use only"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_with_a_message_without_secrets(change: dict[str, str | None], sentence: str) -> None:
    with pytest.raises(Refused) as caught:
        ClientSettings.from_librdkafka(SASL | change)
    assert sentence in str(caught.value)
    assert "-- key --" not in str(caught.value)
