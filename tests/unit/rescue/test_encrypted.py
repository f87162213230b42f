"""Kept records whose content is encrypted are read, compared and erased like others; a key that is missing is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_dr.audit.content_keys import ContentKeys, KeyUnusable
from kafka_dr.audit.erasure import Erasure
from kafka_dr.audit.stranded import StrandedList, StrandedStore
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.erasing import KeptList, Wanted
from kafka_dr.rescue.kept import KeptRecord, erased_records, missing_from, read_partition
from kafka_dr.storage.deadline_path import with_deadline
from support.kept_list import CONTENT_KEYS, RUN, TOPIC, kept_list

OTHER = ContentKeys("2026-03", {"2026-03": b"k" * 32})


@pytest.fixture
def found(tmp_path: Path) -> StrandedList:
    return kept_list(tmp_path, CONTENT_KEYS)


def rows(found: StrandedList, folder: Path, keys: ContentKeys | None = CONTENT_KEYS) -> list[KeptRecord]:
    return list(read_partition(found, folder, topic=TOPIC, partition=0, keys=keys))


def erased(found: StrandedList, folder: Path, wanted: Wanted, keys: ContentKeys | None) -> Erasure:
    """Erase, as the command does."""
    kept = KeptList(found, with_deadline(folder), (), keys)
    matches = kept.matches(wanted)
    digest = wanted.key_sha256(RUN)
    files = kept.draft(matches.files, wanted)
    at = datetime(2026, 2, 1, tzinfo=UTC)
    erasure = Erasure(1, "erase__1", at, "dana", "4711", wanted.topic, digest, matches.total, files)
    replace(kept, erasures=(erasure,)).finish()
    return erasure


def test_encrypted_records_are_read_as_plain_ones_are(found: StrandedList, tmp_path: Path) -> None:
    plain = kept_list(tmp_path / "plain")
    assert rows(found, tmp_path) == rows(plain, tmp_path / "plain", None)
    everything = b"".join(path.read_bytes() for path in tmp_path.glob("records-*/*"))
    assert b"secret" not in everything
    assert b"alice" not in everything
    assert missing_from(found, tmp_path) == ""


def test_a_former_key_still_reads_what_it_encrypted(found: StrandedList, tmp_path: Path) -> None:
    rotated = ContentKeys("2026-03", {**CONTENT_KEYS.keys, **OTHER.keys})
    assert rotated.new().key_id == "2026-03"
    assert rows(found, tmp_path, rotated) == rows(found, tmp_path)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (None, "the topology names no key"),
        (OTHER, "the key 2026-02 is not among those that are known (2026-03)"),
        (ContentKeys("2026-02", {"2026-02": b"k" * 32}), "the key that is called 2026-02 is another one"),
    ],
)
def test_a_key_that_is_missing_or_wrong_is_named_and_nothing_is_lost(
    found: StrandedList, tmp_path: Path, keys: ContentKeys | None, said: str
) -> None:
    with pytest.raises(NeedsPerson) as error:
        rows(found, tmp_path, keys)
    assert said in str(error.value)
    assert "former_keys. Nothing is lost" in str(error.value)
    with pytest.raises(NeedsPerson):
        KeptList(found, with_deadline(tmp_path), (), keys).matches(Wanted(key=b"alice"))
    assert missing_from(found, tmp_path) == ""


def test_records_of_a_key_are_erased_and_the_others_stay_as_they_were(found: StrandedList, tmp_path: Path) -> None:
    before = rows(found, tmp_path)
    erasure = erased(found, tmp_path, Wanted(key=b"alice"), CONTENT_KEYS)
    assert erasure.records == 4
    after = rows(found, tmp_path)
    assert [(row.offset, row.erased) for row in after] == [
        (10, True),
        (11, False),
        (20, True),
        (21, False),
        (22, True),
    ]
    assert [row for row in after if not row.erased] == [row for row in before if row.key is None]
    assert all(
        (row.key, row.value, row.headers, row.timestamp_ms) == (None, None, (), 0) for row in after if row.erased
    )
    assert (missing_from(found, tmp_path, (erasure,)), erased_records(found, tmp_path)) == ("", 4)


def test_a_whole_list_can_be_erased_although_its_key_is_lost(found: StrandedList, tmp_path: Path) -> None:
    assert erased(found, tmp_path, Wanted(), None).records == 7
    assert all(row.erased for row in rows(found, tmp_path))


def test_content_that_was_moved_to_another_record_is_refused(found: StrandedList, tmp_path: Path) -> None:
    path = tmp_path / found.files[0].path
    kept = pq.read_table(path)
    contents = kept.column("content").to_pylist()
    moved = kept.set_column(3, "content", pa.array([contents[1], contents[0], *contents[2:]], pa.binary()))
    pq.write_table(moved, path)
    with pytest.raises(NeedsPerson, match="payments/0/20 is not what was encrypted"):
        rows(found, tmp_path)


def test_a_list_says_how_it_is_encrypted_and_a_plain_one_keeps_its_form(found: StrandedList, tmp_path: Path) -> None:
    for each in (found, kept_list(tmp_path / "plain")):
        store = StrandedStore(tmp_path, "orders", RUN)
        store.write(each)
        assert store.read() == each
        assert ("encryption" in each.to_json()) == (each is found)
    assert not any(key.hex() in str(found.to_json()) for key in CONTENT_KEYS.keys.values())


def test_a_key_is_32_bytes_with_a_name_and_is_never_shown() -> None:
    keys = ContentKeys.of("now", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", {"then": bytes(range(1, 33)).hex()})
    assert keys.keys == {"now": bytes(range(32)), "then": bytes(range(1, 33))}
    assert "\\x01" not in repr(keys)
    for name, key in (("now", "hunter2"), ("", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), ("now", "ab" * 31)):
        with pytest.raises(KeyUnusable) as error:
            ContentKeys.of(name, key, {})
        assert key not in str(error.value)
