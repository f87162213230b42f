"""A person's own client settings are read as Java's tools and librdkafka read them; no message holds a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import Refused
from kafka_dr.set_up.client_file import read_client_file


@pytest.mark.parametrize("password", ["plain", 'a"b\\c', "with blank = and ;", "ends\\"])
def test_the_file_of_javas_tools_gives_the_same_settings(tmp_path: Path, password: str) -> None:
    known = ClientSettings("b:1", "SASL_SSL", "SCRAM-SHA-512", 'o"x', password, ca_file=str(tmp_path / "ca.pem"))
    file = tmp_path / "admin.properties"
    escaped = {key: value.replace("\\", "\\\\") for key, value in known.java().items()}
    file.write_text("# mine\n" + "".join(f"{key} = {value}\n" for key, value in escaped.items()))
    assert read_client_file(file, "b:1") == known


def test_a_login_over_several_lines_and_a_file_of_librdkafka_are_read(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    login = "sasl.jaas.config=org.x.PlainLoginModule required \\\n  username=me \\\n  password=open;\n"
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{login}")
    expected = ClientSettings("b:1", "SASL_PLAINTEXT", "PLAIN", "me", "open")
    assert read_client_file(file, "b:1") == expected
    file.write_text("security.protocol=sasl_plaintext\nsasl.mechanisms=PLAIN\nsasl.username=me\nsasl.password=op\\en\n")
    assert read_client_file(file, "b:1").password == "op\\en"


def test_a_pem_key_store_is_certificate_and_key(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=/k.pem\nssl.key.password=hush\n"
        "ssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\n"
    )
    expected = ClientSettings(
        "b:1", "SSL", ca_file="/ca.pem", certificate_file="/k.pem", key_file="/k.pem", key_password="hush"
    )
    assert read_client_file(file, "b:1") == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("security.protocol=SSL\nssl.keystore.location=/k.jks\nssl.keystore.password=hush\n", "a store of type JKS"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\nsasl.password=hush\n", "a login that is not supported"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.password=hush\n", "needs sasl.username"),
        (None, "there is no such file"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence_without_a_secret(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "client.properties"
    if text:
        file.write_text(text)
    with pytest.raises(Refused) as refused:
        read_client_file(file, "b:1")
    assert said in str(refused.value)
    assert "hush" not in str(refused.value)
    assert "\n" not in str(refused.value)
