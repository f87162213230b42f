"""The fingerprint of a record: equal for two records only if every byte that an application can see is equal."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from struct import pack

#: Bytes of a fingerprint: two different records share one with a probability of 2**-128.
SIZE = 16
_NULL = pack(">i", -1)


def fingerprint(
    *,
    timestamp_ms: int | None,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] = (),
) -> bytes:
    """Return the fingerprint of a record's timestamp, key, value and headers in their order.

    Each part carries its length, and null a length of its own, so that no two different records look alike by where
    one part ends and the next begins.

    :param timestamp_ms: ``None`` leaves the time out
    """
    digest = blake2b(b"" if timestamp_ms is None else pack(">q", timestamp_ms), digest_size=SIZE)
    digest.update(_part(key))
    digest.update(_part(value))
    for name, content in headers:
        digest.update(_part(name.encode()))
        digest.update(_part(content))
    return digest.digest()


def _part(content: bytes | None) -> bytes:
    return _NULL if content is None else pack(">i", len(content)) + content
