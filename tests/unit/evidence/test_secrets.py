from __future__ import annotations

import base64
import json
from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kafka_dr.evidence.known_secrets import KnownSecrets, SecretInEvidence, refuse_secrets

NOTHING = KnownSecrets()
#: What is known of the connections in use.
KNOWN = KnownSecrets()
KNOWN.add('s3cr"et-of-operator', login="operator")
KNOWN.add("west", login="probe")
KNOWN.add("orders-app", login="orders-app")
#: What somebody may call a group or a topic.
NAMES = (
    "orders-token",
    "orders-secret",
    "orders.password",
    "orders.authorization",
    "orders.client_secret",
    'password="hunter2"',
    'ScramLoginModule required username="a" password="hunter2";',
    "-----BEGIN PRIVATE KEY-----",
    "${file:/etc/secrets:key}",
    "Bearer 123",
)


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "dbPassword",
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "east.sasl.jaas.config",
        "source.cluster.sasl.jaas.config",
        "sasl.oauthbearer.client.secret",
        "client_secret",
        "aws_secret_access_key",
        "accessToken",
        "access_token",
        "Authorization",
        "jaas",
    ],
)
def test_the_value_of_a_secret_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(SecretInEvidence, match="its field is for a secret") as caught:
        refuse_secrets({"config": [{key: "hunter2"}]}, NOTHING)

    assert f"config[0].{key}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_everything_below_a_secret_key_is_secret() -> None:
    with pytest.raises(SecretInEvidence, match=r"secrets\.east\[1\]"):
        refuse_secrets({"secrets": {"east": [1, "hunter2"]}}, NOTHING)


def test_a_private_key_is_refused_wherever_it_is() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + base64.b64encode(bytes(range(96))).decode()
    for text in (key, f"cannot read {key}", json.dumps(key)):
        with pytest.raises(SecretInEvidence, match="it holds a private key") as caught:
            refuse_secrets({"error": text}, NOTHING)
        assert "AAEC" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        's3cr"et-of-operator',
        'login failed: password=s3cr"et-of-operator.',
        json.dumps({"sasl.jaas.config": 'x required password="s3cr\\"et-of-operator";'}),
        "https://operator:" + quote('s3cr"et-of-operator', safe="") + "@west:8083",
        "Authorization: Basic " + base64.b64encode(b'operator:s3cr"et-of-operator').decode(),
        "the password: west",
        'x required username="probe" password="west";',
        "password: 'orders-app'",
    ],
)
def test_a_secret_in_use_is_refused_in_any_value(text: str) -> None:
    for value in (text, {"facts": [{"detail": text}]}, {"rows": [{"group": text, "at": 7}]}):
        with pytest.raises(SecretInEvidence, match="it holds a secret of a connection in use") as caught:
            refuse_secrets(value, KNOWN)
        assert text not in str(caught.value)


def test_a_secret_in_use_is_refused_as_a_key_and_not_repeated() -> None:
    with pytest.raises(SecretInEvidence, match="A key at groups") as caught:
        refuse_secrets({"groups": {'s3cr"et-of-operator': 1}}, KNOWN)
    assert "s3cr" not in str(caught.value)


def test_a_secret_that_is_a_word_or_a_login_is_no_reason_to_refuse_that_word() -> None:
    refuse_secrets({"target": "west", "reason": "west is down", "principals": ["User:orders-app"]}, KNOWN)
    refuse_secrets({"detail": "the password of western-app was refused"}, KNOWN)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_data_whatever_it_looks_like(name: str) -> None:
    facts = {"groups": [{"group": name, "topic": name}], "detail": f"{name} has no members: {name} exact {'ab' * 32}"}
    refuse_secrets(facts, KNOWN)


@given(names=st.lists(st.one_of(st.text(min_size=1), st.sampled_from(NAMES)), max_size=5), text=st.text())
def test_no_name_and_no_text_is_refused_unless_it_holds_a_secret_in_use(names: list[str], text: str) -> None:
    known = KnownSecrets()
    known.add("correct horse battery", login="operator")
    rows: dict[str, object] = {"groups": [{"group": name, "class": "exact"} for name in names], "detail": text}
    refuse_secrets(rows, known)

    rows["detail"] = f"{text}correct horse battery{text}"
    with pytest.raises(SecretInEvidence, match="at detail"):
        refuse_secrets(rows, known)


@pytest.mark.parametrize(
    "harmless",
    [
        {"sasl.jaas.config": "${file:/etc/connect/secrets.properties:east.sasl.jaas.config}"},
        {"password": None},
        {"password": ""},
        {"has_token": True},
        {"tokens": 3},
        {"password-reset-events": {"0": "exact"}},
        {"ssl.key.location": "/etc/key.pem"},
        {"topics": ["secret-santa", "password"]},
        {"detail": "the password was refused"},
        {"orders-token": {"0": "exact"}, "orders.client_secret": "x", "….password": "x"},
    ],
)
def test_references_names_and_absent_values_are_no_secrets(harmless: dict[str, object]) -> None:
    refuse_secrets(harmless, KNOWN)


def test_a_reference_followed_by_more_text_is_refused() -> None:
    with pytest.raises(SecretInEvidence):
        refuse_secrets({"password": "${file:/x:y}hunter2"}, NOTHING)


def test_a_secret_that_is_part_of_a_declared_name_stops_no_run_and_is_found_as_a_login() -> None:
    """It is in every evidence of the group, under its own name: nothing could be moved any more."""
    known = KnownSecrets()
    known.add("orders-app", login="probe", names=["east", "User:orders-app"])
    refuse_secrets({"detail": "User:orders-app may write"}, known)
    with pytest.raises(SecretInEvidence):
        refuse_secrets({"detail": 'sasl failed: username="probe" password="orders-app"'}, known)
