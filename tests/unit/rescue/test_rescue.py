"""Where stranded records may go, and how they are read from where they are kept."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_dr.audit.stranded import StrandedFile, StrandedList, StrandedPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.fitting import SizeLimits, in_transactions
from kafka_dr.rescue.kept import KeptRecord, missing_from, read_partition
from kafka_dr.rescue.ledger import LedgerEntry
from kafka_dr.rescue.routing import Destination, destination, stranded_topic
from support import damaged_files
from support.kept_list import SCHEMA


def kept(folder: Path, *files: list[tuple[int, int]]) -> StrandedList:
    """Write files of records, each a list of partition and offset, and return the list of them."""
    for number, rows in enumerate(files):
        records = [
            {
                "topic": "orders.payments",
                "partition": partition,
                "offset": offset,
                "timestamp": 7,
                "key": None if offset % 2 else b"k",
                "value": str(offset).encode(),
                "headers": [{"key": "n", "value": None}, {"key": "n", "value": b""}] if offset % 2 else None,
            }
            for partition, offset in rows
        ]
        pq.write_table(pa.Table.from_pylist(records, SCHEMA), folder / f"part-{number}.parquet")
    total = sum(map(len, files))
    return StrandedList(
        "orders",
        "disaster",
        "east",
        "west",
        datetime(2026, 1, 1, tzinfo=UTC),
        {},
        {},
        (StrandedPartition("orders.payments", 0, 0, 0, 99, 0, records=total, ranges=((0, 99),)),),
        files=tuple(StrandedFile(f"part-{number}.parquet", 1) for number in range(len(files))),
    )


@pytest.mark.parametrize(
    ("facts", "where"),
    [
        ({}, Destination.TOPIC),
        ({"key": None}, Destination.TOPIC),
        ({"written_since": {b"other"}}, Destination.TOPIC),
        ({"written_since": {b"k"}}, Destination.STRANDED_TOPIC),
        ({"compacted": True}, Destination.STRANDED_TOPIC),
        ({"exists": False}, Destination.STRANDED_TOPIC),
        ({"canary": True}, Destination.KEPT_ONLY),
        ({"fits": False}, Destination.STRANDED_TOPIC),
        ({"fits": False, "fits_stranded_topic": False}, Destination.KEPT_ONLY),
        ({"fits_stranded_topic": False}, Destination.TOPIC),
        ({"compacted": True, "fits_stranded_topic": False}, Destination.KEPT_ONLY),
    ],
)
def test_a_record_goes_where_it_undoes_nothing_newer(facts: dict[str, object], where: Destination) -> None:
    usual: dict[str, object] = {
        "key": b"k",
        "written_since": (),
        "compacted": False,
        "canary": False,
        "exists": True,
        "fits": True,
        "fits_stranded_topic": True,
    }
    assert destination(**(usual | facts)) is where  # type: ignore[arg-type]
    assert stranded_topic("orders.payments") == "orders.payments.stranded"


def test_records_are_read_partition_by_partition_in_order_and_from_an_offset_on(tmp_path: Path) -> None:
    found = kept(tmp_path, [(0, 20), (0, 23)], [(1, 4), (1, 5)], [(0, 10), (0, 11)])
    rows = list(read_partition(found, tmp_path, topic="orders.payments", partition=0))
    assert [row.offset for row in rows] == [10, 11, 20, 23]
    assert [row.offset for row in read_partition(found, tmp_path, topic="orders.payments", partition=1)] == [4, 5]
    later = read_partition(found, tmp_path, topic="orders.payments", partition=0, from_offset=11)
    assert [row.offset for row in later] == [11, 20, 23]
    assert (rows[0].key, rows[0].headers) == (b"k", ())
    assert (rows[1].key, rows[1].headers) == (None, (("n", None), ("n", b"")))


def test_a_list_whose_files_are_gone_short_or_damaged_is_not_kept(tmp_path: Path) -> None:
    found = kept(tmp_path, [(0, 1)], [(0, 2)])
    assert missing_from(found, tmp_path) == ""
    (tmp_path / "part-1.parquet").write_bytes(b"PAR1")
    assert "part-1.parquet cannot be read" in missing_from(found, tmp_path)
    with pytest.raises(NeedsPerson, match="cannot be read"):
        list(read_partition(found, tmp_path, topic="orders.payments", partition=0))
    kept(tmp_path, [(0, 1)], [])
    assert "hold 1 record, and 2 are stranded" in missing_from(found, tmp_path)
    (tmp_path / "part-0.parquet").unlink()
    assert "part-0.parquet" in missing_from(found, tmp_path)


def test_records_of_zeroes_under_a_footer_that_counts_them_are_not_kept(tmp_path: Path) -> None:
    former = kept(tmp_path, [(0, 1), (0, 2)])
    content = (tmp_path / "part-0.parquet").read_bytes()
    file = StrandedFile("part-0.parquet", len(content), hashlib.sha256(content).hexdigest())
    found = replace(former, files=(file,))
    assert missing_from(found, tmp_path) == ""

    damaged_files.zero_the_pages(tmp_path / "part-0.parquet")

    assert missing_from(former, tmp_path) == ""
    assert "part-0.parquet is not what was written when the list was made" in missing_from(found, tmp_path)


def test_an_entry_of_the_ledger_is_read_as_it_was_written() -> None:
    entry = LedgerEntry(120, 15, 4, 1, 2)
    assert LedgerEntry.decoded(entry.encoded()) == entry
    assert entry.records == 22
    with pytest.raises(NeedsPerson, match="cannot be read"):
        LedgerEntry.decoded(b"{}")


def a_record(number: int, size: int) -> KeptRecord:
    return KeptRecord("orders.payments", 0, number, 7, None, bytes(size), ())


def test_a_transaction_takes_so_many_records_and_bytes_and_any_single_record() -> None:
    small = [a_record(number, 10) for number in range(1001)]
    assert [len(batch) for batch in in_transactions(small)] == [500, 500, 1]
    mega = 1024 * 1024
    large = [a_record(number, size * mega) for number, size in enumerate((3, 4, 2, 20, 1))]
    assert [[r.offset for r in batch] for batch in in_transactions(large)] == [[0, 1], [2], [3], [4]]
    assert list(in_transactions([])) == []


def test_a_topic_takes_what_it_says_and_what_is_usual_where_it_says_nothing() -> None:
    limits = SizeLimits.of({"small": {"max.message.bytes": "2000"}, "large": {"max.message.bytes": "9000000"}})
    assert (limits.smallest, limits.largest) == (2000, 9_000_000)
    assert limits.takes("small", 2000)
    assert not limits.takes("small", 2001)
    assert limits.takes("unknown", 1_000_000)
    assert not limits.takes("unknown", 1_100_000)
