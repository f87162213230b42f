"""Keys of the content of stranded records, where the topology asks for encryption.

Each list has a key of its own: derived from a named key and a salt, which the list says. So Spark's executors never get
the named key, and a list can be read as long as the named key is kept.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

_BYTES = 32
_CONTENT, _CHECK = b"kafka-dr stranded content 1\0", b"kafka-dr key check 1\0"


class KeyUnusable(ValueError):
    """A key is missing, is another one, or is no key."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """How the content of a list is encrypted.

    :param key_id: the name of the key
    :param salt: of this list, in hex
    :param check: shows whether another key has that name; says nothing of the key
    """

    key_id: str
    salt: str
    check: str


@dataclass(frozen=True, slots=True)
class ContentKeys:
    """The key that encrypts, and former ones, which only decrypt. Their values are never part of ``repr``.

    :param current: the name of the key that encrypts
    :param keys: 32 bytes each, by name
    """

    current: str
    keys: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, current: str, key: str, former: Mapping[str, str]) -> ContentKeys:
        """Read keys as people write them.

        :param key: 32 bytes in base64 or hex
        :param former: the same, by name
        :raises KeyUnusable: one of them is no such key; the message shows nothing of it
        """
        if not current:
            raise KeyUnusable("the key has no name")
        return cls(current, {name: _key(name, text) for name, text in {**former, current: key}.items()})

    def new(self) -> Encryption:
        """Return how a new list is to be encrypted."""
        salt = secrets.token_bytes(_BYTES)
        return Encryption(self.current, salt.hex(), _derived(self.keys[self.current], _CHECK, salt).hex()[:_BYTES])

    def content_key(self, encryption: Encryption) -> bytes:
        """Return the key of a list's content: 32 bytes.

        :raises KeyUnusable: its key is not among these, or another one has its name
        """
        key = self.keys.get(encryption.key_id)
        if key is None:
            known = ", ".join(sorted(self.keys))
            raise KeyUnusable(f"the key {encryption.key_id} is not among those that are known ({known})")
        salt = bytes.fromhex(encryption.salt)
        if not hmac.compare_digest(_derived(key, _CHECK, salt).hex()[:_BYTES], encryption.check):
            raise KeyUnusable(f"the key that is called {encryption.key_id} is another one")
        return _derived(key, _CONTENT, salt)


def _derived(key: bytes, purpose: bytes, salt: bytes) -> bytes:
    return hmac.digest(key, purpose + salt, hashlib.sha256)


def _key(name: str, text: str) -> bytes:
    try:
        found = bytes.fromhex(text) if len(text) == 2 * _BYTES else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        found = b""
    if len(found) != _BYTES:
        raise KeyUnusable(f"the key {name} is not 32 bytes in base64 or hex (openssl rand -base64 32 makes one)")
    return found
