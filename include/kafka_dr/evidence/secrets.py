"""No secret reaches evidence: it is refused by the name of its key, or by its looks."""

from __future__ import annotations

import re

from kafka_dr.errors import Refused

#: The last word of a key that holds a secret, as in sasl.password, client_secret and accessToken.
_SECRET_WORDS = frozenset(
    ("password", "passwords", "passwd", "passphrase", "secret", "secrets", "token", "tokens", "jaas", "authorization")
)
_SECRET_ENDINGS = ("jaas.config", "ssl.key.pem", "ssl.key", "keystore.key", "secret.access.key", "private.key")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
#: What a worker looks up itself, such as ${file:/etc/secrets.properties:east.sasl.jaas.config}.
_REFERENCE = re.compile(r"\$\{[^{}]+\}")
_LOOKS_SECRET = re.compile(r"""password\s*=\s*\\?["'][^"']|-----BEGIN [A-Z ]*PRIVATE KEY-----""")


class SecretInEvidence(Refused):
    """A value was to be written that must never leave memory. Nothing was written."""


def is_secret_key(key: str) -> bool:
    """Return whether what stands under a key is a secret by the key's name."""
    words = _SEPARATORS.sub(".", _CAMEL.sub(".", key)).strip(".").lower()
    return words.rsplit(".", 1)[-1] in _SECRET_WORDS or f".{words}".endswith(tuple(f".{e}" for e in _SECRET_ENDINGS))


def refuse_secrets(value: object, *, where: str = "", secret: bool = False) -> None:
    """Walk plain JSON values and refuse the first secret; a reference to one is none.

    :param value: mappings, lists and scalars
    :param where: the path of the value, for the message
    :param secret: whether a key around the value says that it is one
    :raises SecretInEvidence: naming the key, never the value
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            refuse_secrets(inner, where=f"{where}.{key}" if where else key, secret=secret or is_secret_key(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            refuse_secrets(inner, where=f"{where}[{number}]", secret=secret)
    elif (
        isinstance(value, str) and value and not _REFERENCE.fullmatch(value) and (secret or _LOOKS_SECRET.search(value))
    ):
        reason = "its key names a secret" if secret else "it looks like a login or a private key"
        raise SecretInEvidence(
            f"The value at {where or 'the top'} was not written to evidence, because {reason}: "
            "leave it out, or write a reference such as ${file:…}."
        )
