"""What the lab's applications put into a record, so that anybody can see which one it is and whether it is unchanged.

The headers name the application and its sequence number and carry a fingerprint over key, value and create time.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

APPLICATION, SEQUENCE, FINGERPRINT = "application", "sequence", "fingerprint"
Headers = Sequence[tuple[str, bytes | None]]


def under_any_name(topic: str) -> str:
    """What to subscribe to for a topic, and for its copies that have the name of their cluster before it."""
    return rf"^(.*\.)?{re.escape(topic)}$"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who wrote a record, which one it is, and what was written."""

    application: str
    sequence: int
    fingerprint: str


def headers(application: str, sequence: int, *, key: bytes, value: bytes, time_ms: int) -> list[tuple[str, bytes]]:
    """The headers of a record that is about to be sent."""
    return [
        (APPLICATION, application.encode()),
        (SEQUENCE, str(sequence).encode()),
        (FINGERPRINT, fingerprint(key, value, time_ms).encode()),
    ]


def fingerprint(key: bytes | None, value: bytes | None, time_ms: int) -> str:
    """A checksum in which no two fields can flow into each other and nothing is the same as missing."""
    sum_ = zlib.crc32(str(time_ms).encode())
    for field in (key, value):
        sum_ = zlib.crc32(b"-" if field is None else b"%d:" % len(field) + field, sum_)
    return f"{sum_:08x}"


def identify(found: Iterable[tuple[str, bytes | None]] | None) -> Identity | None:
    """Read the headers of a record; ``None`` if no application of the lab wrote it."""
    values = dict(found or ())
    try:
        return Identity(
            application=_text(values[APPLICATION]),
            sequence=int(_text(values[SEQUENCE])),
            fingerprint=_text(values[FINGERPRINT]),
        )
    except (KeyError, ValueError):
        return None


def _text(value: bytes | None) -> str:
    if value is None:
        raise ValueError("the header is null")
    return value.decode()
