"""A small list of stranded records with real Parquet files, as the job writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.stranded import ENCRYPTED_VERSION, StrandedFile, StrandedList, StrandedPartition

RUN = "disaster"
TOPIC = "orders.payments"
#: The partition and the offsets of each file.
_OFFSETS = ((0, 20, 21, 22), (1, 4, 5), (0, 10, 11))
_FOLDER = "records-20260102T000000Z-aa"
#: Of the files that hold stranded records.
SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
#: Of those whose content is encrypted.
ENCRYPTED_SCHEMA = pa.schema([*(SCHEMA.field(number) for number in range(3)), pa.field("content", pa.binary())])
CONTENT_KEYS = ContentKeys("2026-02", {"2026-02": bytes(range(32)), "2026-01": bytes(range(1, 33))})


def kept_list(folder: Path, keys: ContentKeys | None = None) -> StrandedList:
    """Write the files of a list, and return it; every record with an even offset has the key of alice.

    :param folder: of the list
    :param keys: encrypt the content, as Spark does
    """
    encryption = None if keys is None else keys.new()
    content_key = None if keys is None or encryption is None else keys.content_key(encryption)
    folder.joinpath(_FOLDER).mkdir(parents=True)
    files = tuple(_file(folder, content_key, number, *each) for number, each in enumerate(_OFFSETS))
    partitions = (
        StrandedPartition(TOPIC, 0, 0, 0, 99, 0, records=5, ranges=((10, 23),)),
        StrandedPartition(TOPIC, 1, 0, 0, 99, 0, records=2, ranges=((4, 6),)),
    )
    at = datetime(2026, 1, 2, tzinfo=UTC)
    found = StrandedList("orders", RUN, "east", "west", at, {}, {}, partitions, files=files)
    if encryption is None:
        return found
    return replace(found, encryption=encryption, schema_version=ENCRYPTED_VERSION)


def encrypted_row(row: Mapping[str, Any], content_key: bytes) -> dict[str, Any]:
    """Return a row with its content encrypted, in the format that ``encrypted_records`` describes."""

    def field(value: bytes | None) -> bytes:
        return b"\xff" * 4 if value is None else len(value).to_bytes(4, "big") + value

    headers = b"".join(field(each["key"].encode()) + field(each["value"]) for each in row["headers"])
    plain = field(str(row["timestamp"]).encode()) + field(row["key"]) + field(row["value"])
    plain += len(row["headers"]).to_bytes(4, "big") + headers
    nonce = int(row["offset"]).to_bytes(12, "big")
    about = f"{row['topic']}/{row['partition']}/{row['offset']}".encode()
    return {**row, "content": nonce + AESGCM(content_key).encrypt(nonce, plain, about)}


def _file(folder: Path, content_key: bytes | None, number: int, partition: int, *offsets: int) -> StrandedFile:
    rows: list[dict[str, Any]] = [
        {
            "topic": TOPIC,
            "partition": partition,
            "offset": offset,
            "timestamp": 7,
            "key": b"alice" if offset % 2 == 0 else None,
            "value": f"secret of {offset}".encode(),
            "headers": [{"key": "n", "value": b"secret header"}],
        }
        for offset in offsets
    ]
    path = folder / _FOLDER / f"part-{number}.parquet"
    schema = SCHEMA
    if content_key is not None:
        rows, schema = [encrypted_row(row, content_key) for row in rows], ENCRYPTED_SCHEMA
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    content = path.read_bytes()
    return StrandedFile(f"{_FOLDER}/{path.name}", len(content), hashlib.sha256(content).hexdigest())
