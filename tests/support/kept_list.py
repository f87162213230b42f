"""A small list of stranded records with real Parquet files, as the job writes them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_dr.audit.stranded import StrandedFile, StrandedList, StrandedPartition

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


def kept_list(folder: Path) -> StrandedList:
    """Write the files of a list, and return it; every record with an even offset has the key of alice.

    :param folder: of the list
    """
    folder.joinpath(_FOLDER).mkdir(parents=True)
    files = tuple(_file(folder, number, *each) for number, each in enumerate(_OFFSETS))
    partitions = (
        StrandedPartition(TOPIC, 0, 0, 0, 99, 0, records=5, ranges=((10, 23),)),
        StrandedPartition(TOPIC, 1, 0, 0, 99, 0, records=2, ranges=((4, 6),)),
    )
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return StrandedList("orders", RUN, "east", "west", at, {}, {}, partitions, files=files)


def _file(folder: Path, number: int, partition: int, *offsets: int) -> StrandedFile:
    rows = [
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
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
    content = path.read_bytes()
    return StrandedFile(f"{_FOLDER}/{path.name}", len(content), hashlib.sha256(content).hexdigest())
