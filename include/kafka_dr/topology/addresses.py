"""Addresses in a topology must hold no secret: the file is in Git, and its values are shown in evidence and forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

from kafka_dr.quoting import line
from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake

#: The user information of an address (RFC 3986, 3.2.1).
_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#]*)@", re.IGNORECASE)
_QUERY = re.compile(r"\?([^#]*)")
#: What parameters are called that hold a secret, as words of their names.
_SECRET = re.compile(
    r"(^|[_.-])(token|secret|password|passwd|pwd|sig|signature|auth|authorization|credential|credentials|key|jwt)$",
    re.IGNORECASE,
)
_INSTEAD = "write an address that needs none: what a topology says is in Git, and shown in evidence"


def address_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield every address that holds a login or a token. No message repeats the secret."""
    root = document.at("evidence", "root")
    if isinstance(root, str) and (login := _LOGIN.match(root)) and ":" in login[1]:
        seen = "this address holds a login and a password"
        yield document.mistake(("evidence", "root"), seen, "name an Airflow connection before the @, such as s3://ID@…")
    for group in document.keys("protection_groups"):
        here = ("protection_groups", group, "disaster", "vantages")
        for name in document.keys(*here):
            yield from _vantage(document, (*here, name))


def _vantage(document: Document, path: Path) -> Iterator[Mistake]:
    value = document.at(*path)
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return  # reported as a wrong value already
    if _LOGIN.match(value):
        yield document.mistake(path, "this address holds user information before the @", _INSTEAD)
    query = _QUERY.search(value)
    if (
        secret := [name for name, _ in parse_qsl(query[1], keep_blank_values=True) if _SECRET.search(name)]
        if query
        else []
    ):
        yield document.mistake(path, f"the parameter {line(secret[0])} of this address holds a secret", _INSTEAD)
