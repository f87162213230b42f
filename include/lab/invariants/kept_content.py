"""Opens the content of stranded records that are kept encrypted, by nothing but the description of the format.

It is written apart from what is judged here: AES-256-GCM with the nonce in front, bound to topic, partition and offset;
the key of a list is HMAC-SHA-256 of a purpose and the list's salt under the key of the lab.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lab.errors import LabError

_PURPOSE = b"kafka-dr stranded content 1\0"
_NONCE_BYTES = 12
#: The length of a field that is not there.
_NONE = 2**32 - 1

Row = Mapping[str, Any]


def row_opener(summary: Mapping[str, Any], key: str) -> Callable[[Row], Row]:
    """Return what opens the rows of a list.

    :param summary: what the list says of itself
    :param key: 32 bytes in base64; not needed for a list in the clear
    """
    encryption = summary.get("encryption")
    if not encryption:
        return lambda row: row
    named = base64.b64decode(key)
    cipher = AESGCM(hmac.digest(named, _PURPOSE + bytes.fromhex(encryption["salt"]), hashlib.sha256))

    def opened(row: Row) -> Row:
        about = f"{row['topic']}/{row['partition']}/{row['offset']}"
        try:
            plain = cipher.decrypt(row["content"][:_NONCE_BYTES], row["content"][_NONCE_BYTES:], about.encode())
        except (InvalidTag, TypeError) as error:
            raise LabError(f"the stranded record {about} cannot be decrypted: {error!r}") from error
        return {**row, **_fields(BytesIO(plain))}

    return opened


def _fields(plain: BytesIO) -> Row:
    timestamp, key, value = _field(plain), _field(plain), _field(plain)
    headers = [{"key": (_field(plain) or b"").decode(), "value": _field(plain)} for _ in range(_number(plain))]
    return {"timestamp": int(timestamp or b"0"), "key": key, "value": value, "headers": headers}


def _field(plain: BytesIO) -> bytes | None:
    length = _number(plain)
    return None if length == _NONE else plain.read(length)


def _number(plain: BytesIO) -> int:
    return int.from_bytes(plain.read(4), "big")
