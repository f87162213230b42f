"""Erasing the content of stranded records: what stays, what a register has to know, and dying in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.audit.erasure import Erasure, erasures_in, key_digest
from kafka_dr.audit.stranded import StrandedList
from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import NotDecoded
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.erasing import KeptList, Wanted
from kafka_dr.rescue.kept import erased_records, missing_from, read_partition
from kafka_dr.storage.deadline_path import DeadlinePath, with_deadline
from support.kept_list import RUN, TOPIC, kept_list


@pytest.fixture
def folder(tmp_path: Path) -> DeadlinePath:
    return with_deadline(tmp_path)


@pytest.fixture
def found(tmp_path: Path) -> StrandedList:
    return kept_list(tmp_path)


def erasure_of(kept: KeptList, wanted: Wanted, number: int = 1) -> Erasure:
    """Return what would be journaled; the drafts are written."""
    matches = kept.matches(wanted)
    return Erasure(
        number,
        "erase__1",
        datetime(2026, 2, 1, tzinfo=UTC),
        "dana",
        "request 4711",
        wanted.topic,
        wanted.key_sha256(RUN),
        matches.total,
        kept.draft(matches.files, wanted),
    )


def test_what_matches_is_counted_by_partition_and_nothing_is_changed(
    found: StrandedList, folder: DeadlinePath, tmp_path: Path
) -> None:
    kept = KeptList(found, folder)
    matches = kept.matches(Wanted(key=b"alice"))
    assert matches.records == {TopicPartition(TOPIC, 0): 3, TopicPartition(TOPIC, 1): 1}
    assert kept.matches(Wanted()).total == 7
    assert kept.matches(Wanted(topic="orders.other")).total == 0
    assert kept.matches(Wanted(key=b"bob")).files == ()
    assert missing_from(found, tmp_path) == ""


def test_the_content_is_gone_and_the_offsets_stay(found: StrandedList, folder: DeadlinePath, tmp_path: Path) -> None:
    kept = KeptList(found, folder)
    erasure = erasure_of(kept, Wanted(key=b"alice"))
    KeptList(found, folder, (erasure,)).finish()

    rows = list(read_partition(found, tmp_path, topic=TOPIC, partition=0))
    assert [(row.offset, row.erased) for row in rows] == [
        (10, True),
        (11, False),
        (20, True),
        (21, False),
        (22, True),
    ]
    assert [(row.key, row.value, row.headers, row.timestamp_ms) for row in rows if row.erased] == [
        (None, None, (), 0)
    ] * 3
    assert rows[1].value == b"secret of 11"
    assert erased_records(found, tmp_path) == 4
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"alice" not in everything
    assert b"secret of 20" not in everything
    assert b"secret of 21" in everything
    assert missing_from(found, tmp_path, (erasure,)) == ""
    # Whoever changes the files alone erases nothing, but damages them.
    assert "is not what was written when the list was made" in missing_from(found, tmp_path)


def test_a_process_that_died_before_it_replaced_every_file_is_continued(
    found: StrandedList, folder: DeadlinePath, tmp_path: Path
) -> None:
    kept = KeptList(found, folder)
    erasure = erasure_of(kept, Wanted(key=b"alice"))
    assert missing_from(found, tmp_path) == ""
    # It is journaled, and one draft has replaced its file.
    first = tmp_path / erasure.files[0].path
    (first.parent / f".{first.name}.erasing").rename(first)
    said = missing_from(found, tmp_path, (erasure,))
    assert "the file still holds them: run python -m kafka_dr erase again" in said
    assert "erased on 2026-02-01 00:00:00 UTC by dana (request 4711)" in said
    # A draft that got lost is made again from what is journaled.
    second = tmp_path / erasure.files[1].path
    (second.parent / f".{second.name}.erasing").unlink()

    assert KeptList(found, folder, (erasure,)).finish() == tuple(file.path for file in erasure.files[1:])
    assert missing_from(found, tmp_path, (erasure,)) == ""
    assert KeptList(found, folder, (erasure,)).finish() == ()
    assert KeptList(found, folder, (erasure,)).matches(Wanted(key=b"alice")).total == 0


def test_what_was_erased_is_not_counted_again_and_a_second_erasure_keeps_the_first(
    found: StrandedList, folder: DeadlinePath, tmp_path: Path
) -> None:
    first = erasure_of(KeptList(found, folder), Wanted(key=b"alice"))
    kept = KeptList(found, folder, (first,))
    kept.finish()
    second = erasure_of(kept, Wanted(), number=2)
    assert second.records == 3
    KeptList(found, folder, (first, second)).finish()
    assert missing_from(found, tmp_path, (first, second)) == ""
    assert erased_records(found, tmp_path) == 7


def test_a_file_that_was_changed_is_not_erased_from_and_a_mark_without_an_erasure_is_not_believed(
    found: StrandedList, folder: DeadlinePath, tmp_path: Path
) -> None:
    wanted = Wanted(key=b"alice")
    erasure = erasure_of(KeptList(found, folder), wanted)
    KeptList(found, folder, (erasure,)).finish()
    with pytest.raises(NeedsPerson, match="does not match its recorded checksum; nothing was erased"):
        KeptList(found, folder).draft(found.files, wanted)
    forged = replace(found, files=tuple(replace(file, sha256="") for file in found.files))
    assert "marked as erased, and no register knows of an erasure" in missing_from(forged, tmp_path)


def test_checksums_of_the_former_content_and_folders_of_earlier_attempts_go_too(
    found: StrandedList, folder: DeadlinePath, tmp_path: Path
) -> None:
    kept = KeptList(found, folder)
    sums = tmp_path / "records-20260102T000000Z-aa" / ".part-0.parquet.crc"
    sums.write_bytes(b"crc")
    for name in ("records-20260101T000000Z-bb", "records-20260103T000000Z-cc"):
        (tmp_path / name / "_temporary").mkdir(parents=True)
    assert (kept.former_folders(), kept.newer_folders()) == (
        ("records-20260101T000000Z-bb",),
        ("records-20260103T000000Z-cc",),
    )
    kept.remove_former()
    assert kept.former_folders() == ()
    KeptList(found, folder, (erasure_of(kept, Wanted()),)).finish()
    assert not sums.exists()


def test_an_erasure_is_read_as_it_was_journaled_and_shows_no_key(found: StrandedList, folder: DeadlinePath) -> None:
    erasure = erasure_of(KeptList(found, folder), Wanted(TOPIC, b"alice"))
    other = replace(erasure, number=2, key_sha256=None, topic=None)
    journal = {"erased-2": other.to_json(), "erased-1": erasure.to_json(), "target_ends": {"ends": []}}
    assert erasures_in(journal) == (erasure, other)
    assert "alice" not in str(erasure.to_json())
    assert erasure.key_sha256 == key_digest(RUN, b"alice") != key_digest("another", b"alice")
    assert erasure.covers(RUN, TOPIC, b"alice")
    assert not erasure.covers(RUN, TOPIC, None)
    assert not erasure.covers(RUN, "orders.other", b"alice")
    assert other.covers(RUN, "orders.other", None)
    with pytest.raises(NotDecoded):
        erasures_in({"erased-1": {"number": 1}})
