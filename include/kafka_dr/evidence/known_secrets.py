"""No secret reaches evidence: it is refused by its value, by the field that it is in, or as a private key.

What a cluster names (topics, groups, principals) is data: a group may be called ``orders-token`` or even
``password="x"``. So names are values of rows, never keys, and no value is judged by how it looks, except for the
material of a private key.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator
from threading import Lock
from urllib.parse import quote

from kafka_dr.errors import Refused

#: The last word of a field of ours that holds a secret, as in client_secret and accessToken.
_SECRET_WORDS = frozenset(
    ("password", "passwords", "passwd", "passphrase", "secret", "secrets", "token", "tokens", "jaas", "authorization")
)
_SECRET_FIELDS = ("secret_access_key", "private_key")
#: What Kafka's clients and Connect call their secrets; a prefix such as ``source.cluster.`` may come before it.
_PROPERTIES = (
    "sasl.password",
    "sasl.jaas.config",
    "sasl.oauthbearer.client.secret",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.password",
)
#: Our own fields are words joined by underscores or written in camel case; most names of a cluster hold . or -.
_FIELD = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: What a worker looks up itself, such as ${file:/etc/secrets.properties:east.sasl.jaas.config}.
_REFERENCE = re.compile(r"\$\{[^{}]+\}")
#: The first line of a private key, and enough of its second one: a name may well be the first line alone.
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:\s|\\[nr])*[A-Za-z0-9+/]{40}")
#: A shorter secret also occurs in words that have nothing to do with it.
_SHORTEST = 8
_IN_A_LOGIN = r"(?i:passw(?:or)?d|passphrase|secret|token)\W{{1,4}}{secret}(?!\w)"


class SecretInEvidence(Refused):
    """A value was to be written that must never leave memory. Nothing was written."""


class KnownSecrets:
    """The secret values of the connections in use, as they may turn up in a text. It never shows them.

    One that is shorter than 8 characters, is the login itself, or part of a declared name, cannot be told from a name:
    it is found where the text calls it a password, a secret or a token.
    """

    def __init__(self) -> None:
        self._forms: frozenset[str] = frozenset()
        self._logins: frozenset[re.Pattern[str]] = frozenset()
        self._lock = Lock()

    def add(self, secret: str | None, *, login: str | None = None, names: Collection[str] = ()) -> None:
        """Remember a secret; nothing where there is none.

        :param login: whose password it is
        :param names: what is declared: it is in all evidence, and a run whose evidence is refused moves nothing
        """
        if not secret:
            return
        with self._lock:
            if len(secret) < _SHORTEST or secret == login or any(secret in name for name in names):
                self._logins |= {re.compile(_IN_A_LOGIN.format(secret=re.escape(secret)))}
            else:
                self._forms |= {_bare(form) for form in _forms(secret, login)}

    def inside(self, text: str) -> bool:
        """Return whether a text holds one of them, as it is or as programs quote it."""
        bare = _bare(text)
        return any(form in bare for form in self._forms) or any(login.search(text) for login in self._logins)


def _forms(secret: str, login: str | None) -> Iterator[str]:
    """Yield how a secret is written: plainly, in JSON and JAAS, in a URL, and as the login of an HTTP request."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    if login:
        yield base64.b64encode(f"{login}:{secret}".encode()).decode()


def _bare(text: str) -> str:
    """Return a text without backslashes: each program that quotes what another one quoted adds some."""
    return text.replace("\\", "")


def is_secret_field(key: str) -> bool:
    """Return whether what is under a key is a secret: it is a field of ours, or a property of Kafka's, that says so."""
    if any(key == name or key.endswith(f".{name}") for name in _PROPERTIES):
        return True
    if not _FIELD.fullmatch(key):
        return False
    words = _CAMEL.sub("_", key).lower()
    return words.rsplit("_", 1)[-1] in _SECRET_WORDS or f"_{words}".endswith(
        tuple(f"_{each}" for each in _SECRET_FIELDS)
    )


def refuse_secrets(value: object, known: KnownSecrets, *, where: str = "", secret: bool = False) -> None:
    """Walk plain JSON values and refuse the first secret; a reference to one is none.

    :param value: mappings, lists and scalars
    :param known: the secrets that may not be inside any text, names included
    :param where: the path of the value, for the message
    :param secret: whether a field around the value says that it is one
    :raises SecretInEvidence: naming the place, never the value
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if known.inside(key):
                raise _refusal(f"a key at {where or 'the top'}", "it holds a secret of a connection in use")
            path = f"{where}.{key}" if where else key
            refuse_secrets(inner, known, where=path, secret=secret or is_secret_field(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            refuse_secrets(inner, known, where=f"{where}[{number}]", secret=secret)
    elif isinstance(value, str) and (reason := _why(value, known, secret)):
        raise _refusal(f"the value at {where or 'the top'}", reason)


def _why(text: str, known: KnownSecrets, secret: bool) -> str:
    if not text or _REFERENCE.fullmatch(text):
        return ""
    if secret:
        return "its field is for a secret"
    if known.inside(text):
        return "it holds a secret of a connection in use"
    return "it holds a private key" if _PRIVATE_KEY.search(text) else ""


def _refusal(what: str, reason: str) -> SecretInEvidence:
    return SecretInEvidence(
        f"{what[0].upper()}{what[1:]} was not written to evidence, because {reason}: "
        "leave it out, or write a reference such as ${file:…}."
    )
