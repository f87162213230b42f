from __future__ import annotations

import pytest

from kafka_dr.evidence import SecretInEvidence
from kafka_dr.evidence.secrets import refuse_secrets


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
def test_what_stands_under_a_secret_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(SecretInEvidence, match="its key names a secret") as caught:
        refuse_secrets({"config": [{key: "hunter2"}]})

    assert f"config[0].{key}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_everything_below_a_secret_key_is_secret() -> None:
    with pytest.raises(SecretInEvidence, match=r"secrets\.east\[1\]"):
        refuse_secrets({"secrets": {"east": [1, "hunter2"]}})


@pytest.mark.parametrize(
    "text",
    [
        'ScramLoginModule required username="a" password="hunter2";',
        "login failed: password='hunter2'",
        '{\\"jaas\\": \\"x password=\\"hunter2\\"',
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    ],
)
def test_a_login_in_a_harmless_place_is_refused_by_its_looks(text: str) -> None:
    with pytest.raises(SecretInEvidence, match="looks like a login or a private key") as caught:
        refuse_secrets({"error": text})

    assert "hunter2" not in str(caught.value)


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
    ],
)
def test_references_names_and_absent_values_are_no_secrets(harmless: dict[str, object]) -> None:
    refuse_secrets(harmless)


def test_a_reference_with_more_behind_it_is_refused() -> None:
    with pytest.raises(SecretInEvidence):
        refuse_secrets({"password": "${file:/x:y}hunter2"})
