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
from kafka_dr.evidence import digest

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
#: What the first version wrote, with its digest then.
FORMER = {
    "schema_version": 1,
    "verdict": "stranded",
    "sentence": "20 records of east never crossed to west: orders.payments-0 (20)",
    "records": 20,
    "group": "orders",
    "run": "disaster",
    "old": "east",
    "new": "west",
    "at": "2026-01-01T00:00:00+00:00",
    "cluster_ids": {"east": "e", "west": "w"},
    "topic_ids": {"orders.payments": "id-1"},
    "partitions": [
        {
            "topic": "orders.payments",
            "partition": 0,
            "from_offset": 90,
            "crossed": 100,
            "end": 120,
            "new_end": 105,
            "records": 20,
            "ranges": [[100, 120]],
            "keys": 3,
            "size": 2000,
            "oldest_ms": 1,
            "newest_ms": 2,
            "missing": 0,
        }
    ],
    "files": [{"path": "records-1/part-0.parquet", "size": 500}],
    "gone": [],
    "compacted": [],
    "seconds": {},
}
FORMER_SHA256 = "9d76149dd8ca85fbbee9555b90c6dad042080be1aafc8f5c7562add6e67deb97"


#: The same of the second version.
SECOND = FORMER | {
    "schema_version": 2,
    "sentence": f"{FORMER['sentence']}; 4 records that had crossed are gone there",
    "topic_ids": [{"topic": "orders.payments", "topic_id": "id-1"}],
    "partitions": [{**FORMER["partitions"][0], "missing": 4}],  # type: ignore[index]
    "files": [{"path": "records-1/part-0.parquet", "size": 500, "sha256": "ab" * 32}],
}
SECOND_SHA256 = "e70aaf8e9b9f5e5c505a83e4581d934e387dcc46c205476a10a27a9cf7fce1f5"


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = StrandedStore(tmp_path, "orders", "disaster")
    assert store.read() is None
    store.write(LIST)
    assert store.read() == LIST
    assert [path.name for path in store.folder.iterdir()] == ["summary.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"schema_version": 2}', b'{"schema_version": 4}', b'{"schema_version": 1}']
)
def test_what_is_no_list_is_not_taken_for_an_empty_one(tmp_path: Path, content: bytes) -> None:
    store = StrandedStore(tmp_path, "orders", "disaster")
    store.folder.mkdir(parents=True)
    store.folder.joinpath("summary.json").write_bytes(content)
    with pytest.raises(StrandedUnreadable, match=r"summary\.json cannot be read"):
        store.read()


def test_a_list_of_a_former_version_is_read_and_keeps_the_digest_that_was_approved(tmp_path: Path) -> None:
    store = StrandedStore(tmp_path, "orders", "disaster")
    store.folder.mkdir(parents=True)
    store.folder.joinpath("summary.json").write_text(json.dumps(FORMER))
    found = store.read()
    assert found == replace(LIST, files=(StrandedFile("records-1/part-0.parquet", 500),), schema_version=1)
    assert digest(found.to_json()) == FORMER_SHA256
    assert StrandedList.from_json(found.to_json()) == found


def test_a_list_of_the_second_version_keeps_its_digest_and_its_words() -> None:
    found = StrandedList.from_json(SECOND)
    assert found == replace(LIST, partitions=(replace(PARTITION, missing=4),), schema_version=2)
    assert (json.loads(json.dumps(found.to_json())), digest(found.to_json())) == (SECOND, SECOND_SHA256)
    assert "never copied" in replace(found, schema_version=3).sentence


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
