"""The content of a kept record: in the clear, or encrypted as the job wrote it.

What is encrypted is described in ``spark/kafka_dr_spark/encrypted_records.py``: AES-256-GCM, the nonce in front, bound
to topic, partition and offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_dr.audit.content_keys import ContentKeys, KeyUnusable
from kafka_dr.audit.stranded import StrandedList
from kafka_dr.errors import NeedsPerson

#: The column of a file whose content is encrypted.
CONTENT = "content"
_NONCE = 12
_NO_FIELD = 0xFFFFFFFF
#: Returns a row of a file with its content in the clear.
Opened = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def content_opener(found: StrandedList, keys: ContentKeys | None) -> Opened:
    """Return what opens the rows of a list.

    :param keys: ``None`` if the topology names none
    :raises NeedsPerson: the list is encrypted, and its key is not known
    """
    if found.encryption is None:
        return lambda row: row
    named = f"the stranded records of {found.run} are encrypted with the key {found.encryption.key_id}"
    todo = "name it in the connection of evidence.encryption_connection, as password or in former_keys. Nothing is lost"
    if keys is None:
        raise NeedsPerson(f"{named}, and the topology names no key: {todo}")
    try:
        key = keys.content_key(found.encryption)
    except KeyUnusable as error:
        raise NeedsPerson(f"{named}, and {error}: {todo}") from error
    # Loaded here: every step of every verb imports this room.
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(key)

    def opened(row: Mapping[str, Any]) -> Mapping[str, Any]:
        content = row[CONTENT]
        if content is None:
            return {**row, "timestamp": 0, "key": None, "value": None, "headers": None}
        where = f"{row['topic']}/{row['partition']}/{row['offset']}"
        try:
            return {**row, **_fields(cipher.decrypt(content[:_NONCE], content[_NONCE:], where.encode()))}
        except (InvalidTag, ValueError) as error:
            raise NeedsPerson(
                f"the content that is kept of {where} is not what was encrypted: restore it from a copy"
            ) from error

    return opened


def _fields(plain: bytes) -> dict[str, Any]:
    """Return the fields of a content."""
    position = 0

    def number() -> int:
        nonlocal position
        position += 4
        return int.from_bytes(plain[position - 4 : position], "big")

    def field() -> bytes | None:
        nonlocal position
        if (length := number()) == _NO_FIELD:
            return None
        position += length
        return plain[position - length : position]

    timestamp, key, value = int(field() or b"0"), field(), field()
    headers = [{"key": (field() or b"").decode("utf-8"), "value": field()} for _ in range(number())]
    return {"timestamp": timestamp, "key": key, "value": value, "headers": headers}
