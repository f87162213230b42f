"""No secret reaches evidence: it is refused by its value, by the field that it is in, or as a private key.

Names from clusters (topics, groups, principals) are data: a group may be called ``orders-token`` or even
``password="x"``. So names are values of rows, never keys, and no value is refused because it looks like a secret. The
only exception is a private key.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from threading import Lock
from urllib.parse import quote

from kafka_dr.errors import Refused

#: The last word of a field of this project that holds a secret, as in client_secret and accessToken.
_SECRET_WORDS = frozenset(
    ("password", "passwords", "passwd", "passphrase", "secret", "secrets", "token", "tokens", "jaas", "authorization")
)
_SECRET_FIELDS = ("secret_access_key", "private_key")
#: The keys of secrets in Kafka's clients and Connect, also with a prefix such as ``source.cluster.``.
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
#: Fields of this project are words joined by underscores or in camel case. Most names from clusters hold . or -.
_FIELD = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: A reference that a Connect worker resolves, such as ${file:/etc/secrets.properties:east.sasl.jaas.config}.
_REFERENCE = re.compile(r"\$\{[^{}]+\}")
#: The first line of a private key and enough of the second one. The first line alone could be a name.
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:\s|\\[nr])*[A-Za-z0-9+/]{40}")
#: Values of these types hold no text.
_NO_TEXT = frozenset((int, float, bool, type(None)))
#: Shorter secrets also occur in unrelated words.
_SHORTEST = 8
_IN_A_LOGIN = r"(?i:passw(?:or)?d|passphrase|secret|token)\W{{1,4}}{secret}(?!\w)"


class SecretInEvidence(Refused):
    """Evidence would have held a secret. Nothing was written."""


class KnownSecrets:
    """The secret values of the connections in use, in every form in which a text may hold them. It never shows them.

    A secret may look like a name: it is shorter than 8 characters, equals the login, or is part of a declared name.
    Such a secret is found only where the text calls it a password, a secret or a token.
    """

    def __init__(self) -> None:
        self._forms: frozenset[str] = frozenset()
        self._logins: frozenset[re.Pattern[str]] = frozenset()
        self._lock = Lock()

    def add(self, secret: str | None, *, login: str | None = None, names: Collection[str] = ()) -> None:
        """Remember a secret; an empty one is ignored.

        :param login: the login that the secret belongs to
        :param names: declared names; they are in all evidence, and evidence that holds them must not be refused
        """
        if not secret:
            return
        with self._lock:
            if len(secret) < _SHORTEST or secret == login or any(secret in name for name in names):
                self._logins |= {re.compile(_IN_A_LOGIN.format(secret=re.escape(secret)))}
            else:
                self._forms |= {_bare(form) for form in _forms(secret, login)}

    def learn(self, other: KnownSecrets) -> None:
        """Remember what others know, too."""
        with self._lock:
            self._forms |= other._forms
            self._logins |= other._logins

    def inside(self, text: str) -> bool:
        """Return whether a text holds one of the secrets, plain or quoted."""
        bare = _bare(text)
        return any(form in bare for form in self._forms) or any(login.search(text) for login in self._logins)


def _forms(secret: str, login: str | None) -> Iterator[str]:
    """Yield the forms of a secret: plain, in JSON and JAAS, in a URL, and as the login of an HTTP request."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    if login:
        yield base64.b64encode(f"{login}:{secret}".encode()).decode()


def _bare(text: str) -> str:
    """Return a text without backslashes: each time a program quotes a text, it adds some."""
    return text.replace("\\", "")


@lru_cache(maxsize=4_096)
def is_secret_field(key: str) -> bool:
    """Return whether a key names a secret: a field of this project, or a property of Kafka."""
    if any(key == name or key.endswith(f".{name}") for name in _PROPERTIES):
        return True
    if not _FIELD.fullmatch(key):
        return False
    words = _CAMEL.sub("_", key).lower()
    return words.rsplit("_", 1)[-1] in _SECRET_WORDS or f"_{words}".endswith(
        tuple(f"_{each}" for each in _SECRET_FIELDS)
    )


def refuse_secrets(value: object, known: KnownSecrets) -> None:
    """Walk plain JSON values and refuse the first secret. A reference to a secret is allowed.

    :param value: mappings, lists and scalars
    :param known: the secrets that no text may hold, names included
    :raises SecretInEvidence: with the path of the value, never the value itself
    """
    _Walk(known).refuse(value, "", secret=False)


class _Walk:
    """One walk through values: a text that occurs in thousands of rows is searched once."""

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._keys: set[str] = set()
        self._harmless: set[str] = set()

    def refuse(self, value: object, where: str, *, secret: bool) -> None:
        """Refuse the first secret in a value.

        :param where: the path of the value, for the message
        :param secret: whether a field around the value names a secret
        """
        if isinstance(value, dict):
            for key, inner in value.items():
                self._refuse_key(key, where)
                below = secret or is_secret_field(key)
                if not self._is_harmless(inner, below):
                    self.refuse(inner, f"{where}.{key}" if where else key, secret=below)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                if not self._is_harmless(inner, secret):
                    self.refuse(inner, f"{where}[{number}]", secret=secret)
        elif isinstance(value, str):
            if reason := _why(value, self._known, secret):
                raise _refusal(f"the value at {where or 'the top'}", reason)
            self._harmless.add(value)

    def _refuse_key(self, key: str, where: str) -> None:
        if key in self._keys:
            return
        if self._known.inside(key):
            raise _refusal(f"a key at {where or 'the top'}", "it holds a secret of a connection in use")
        self._keys.add(key)

    def _is_harmless(self, value: object, secret: bool) -> bool:
        """Return whether a value is known to hold no secret: a number, or a text that was searched before."""
        return type(value) in _NO_TEXT or (not secret and type(value) is str and value in self._harmless)


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
        "remove it, or write a reference such as ${file:…}."
    )
