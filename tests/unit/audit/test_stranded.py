"""The list of stranded records, as it is kept and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.audit.stranded import (
    StrandedFile,
    StrandedList,
    StrandedPartition,
    StrandedStore,
    StrandedUnreadable,
    knows_less,
)
from kafka_dr.evidence.canonical import digest

PARTITION = StrandedPartition("orders.payments", 0, 90, 100, 120, 105, 20, ((100, 120),), 3, 2_000, 1, 2)
LIST = StrandedList(
    group="orders",
    run="disaster",
    old="east",
    new="west",
    at=datetime(2026, 1, 1, tzinfo=UTC),
    cluster_ids={"east": "e", "west": "w"},
    topic_ids={"orders.payments": "id-1"},
    partitions=(PARTITION,),
    files=(StrandedFile("records-1/part-0.parquet", 500, "ab" * 32),),
)
#: What an approval of this list covers.
LIST_SHA256 = "5c5cc1a2577e8f9a4bc1e95441e00deeba1de911e20aa287456ac8ec6996b717"


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = StrandedStore(tmp_path, "orders", "disaster")
    assert store.read() is None
    store.write(LIST)
    assert store.read() == LIST
    assert [path.name for path in store.folder.iterdir()] == ["summary.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"schema_version": 3}', b'{"schema_version": 4}', b'{"schema_version": 1}']
)
def test_what_is_no_list_is_not_taken_for_an_empty_one(tmp_path: Path, content: bytes) -> None:
    store = StrandedStore(tmp_path, "orders", "disaster")
    store.folder.mkdir(parents=True)
    store.folder.joinpath("summary.json").write_bytes(content)
    with pytest.raises(StrandedUnreadable, match=r"summary\.json cannot be read"):
        store.read()


def test_a_list_keeps_the_digest_that_is_approved() -> None:
    assert digest(LIST.to_json()) == LIST_SHA256
    assert digest(StrandedList.from_json(json.loads(json.dumps(LIST.to_json()))).to_json()) == LIST_SHA256


def test_a_file_of_other_content_is_another_list() -> None:
    other = replace(LIST, files=(StrandedFile("records-1/part-0.parquet", 500, "cd" * 32),))
    assert digest(other.to_json()) != digest(LIST.to_json())
    assert "orders.payments" not in LIST.to_json()["topic_ids"][0]


def test_the_sentence_says_how_much_is_stranded_and_where() -> None:
    assert LIST.sentence == "20 records of east were never copied to west: orders.payments-0 (20)"
    none = replace(LIST, partitions=(replace(PARTITION, records=0, missing=4),), gone=("orders.old",))
    assert none.verdict == "nothing"
    assert none.sentence == (
        "nothing on east is stranded: all it holds is on west; 4 records that had been copied are gone on east; it no "
        "longer has orders.old"
    )


def test_a_list_made_of_a_log_that_was_deleted_or_cut_since_knows_less() -> None:
    grown = replace(LIST, partitions=(replace(PARTITION, end=130),))
    again = replace(LIST, topic_ids={"orders.payments": "id-2"})
    cut = replace(LIST, partitions=(replace(PARTITION, end=119),))
    gone = replace(LIST, topic_ids={}, partitions=())
    assert not knows_less(LIST, LIST)
    assert not knows_less(grown, LIST)
    assert all(knows_less(now, LIST) for now in (again, cut, gone))
    # Retention and compaction continue on a log without producers.
    forgetting = replace(LIST, partitions=(replace(PARTITION, from_offset=101),))
    emptied = replace(LIST, partitions=(replace(PARTITION, from_offset=120, records=0, ranges=()),))
    assert all(knows_less(now, LIST) for now in (forgetting, emptied))
    assert knows_less(LIST, replace(LIST, compacted=("orders.payments",)))
    assert not knows_less(grown, replace(LIST, compacted=("orders.payments",)))
    # Where nothing was stranded nothing can be forgotten.
    assert not knows_less(again, replace(LIST, partitions=(replace(PARTITION, records=0),)))
