"""What is kept of the offset syncs, what can be relied on, and what a damaged archive still says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.offsets.syncs import files as sync_files
from kafka_dr.offsets.syncs.files import SyncArchive, SyncRow
from kafka_dr.offsets.syncs.history import ArchivedSync, History, composed, history
from kafka_dr.positions import OffsetPair, TopicPartition

ONE, TWO = TopicPartition("orders.payments", 0), TopicPartition("orders.payments", 1)
IDS = {"orders.payments": ("here", "there")}


def archive(root: Path, *, clusters: tuple[str, str] = ("e", "w")) -> SyncArchive:
    return SyncArchive(root, source="east", target="west", cluster_ids=clusters)


def rows(first: int, end: int, *, ids: tuple[str, str] = ("here", "there"), step: int = 100) -> list[SyncRow]:
    return [
        SyncRow((ONE, TWO)[at % 2], ArchivedSync(at, at * step, at * step + at, 1_000 + at), ids)
        for at in range(first, end)
    ]


def filled(root: Path, *ends: int) -> SyncArchive:
    kept, first = archive(root), 0
    for end in ends:
        kept.extend("topic-id", rows(first, end), first=first, end=end)
        first = end
    return kept


def files(root: Path) -> list[Path]:
    return sorted((root / "offset_syncs" / "east-to-west" / "topic-id").iterdir())


def read(root: Path):  # type: ignore[no-untyped-def]
    return archive(root).read({"orders.payments"}, topic_ids=IDS, sync_topic_id="topic-id")


def test_what_was_archived_bit_by_bit_is_read_back_whole(tmp_path: Path) -> None:
    kept = filled(tmp_path, 3, 4, 10)
    found = read(tmp_path)
    assert kept.reached("topic-id") == found.reached == 10
    assert found.of(ONE).pairs == tuple(OffsetPair(at * 100, at * 101) for at in range(0, 10, 2))
    assert found.of(TWO).pairs == tuple(OffsetPair(at * 100, at * 101) for at in range(1, 10, 2))
    assert (found.problems, found.of(ONE).reason) == ((), "")


def test_other_topics_are_not_read(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    assert archive(tmp_path).read({"orders.other"}).histories == {}


def test_many_small_files_become_one_and_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_files, "_MOST_FILES", 4)
    filled(tmp_path, *range(1, 30))
    assert len(files(tmp_path)) <= 4
    assert read(tmp_path).of(ONE).pairs == tuple(OffsetPair(at * 100, at * 101) for at in range(0, 29, 2))
    assert read(tmp_path).problems == ()


def test_files_that_were_joined_and_not_removed_yet_count_once(tmp_path: Path) -> None:
    filled(tmp_path, 4, 8)
    archive(tmp_path).extend("topic-id", rows(0, 8), first=0, end=8)
    assert len(files(tmp_path)) == 3
    assert len(read(tmp_path).of(ONE).pairs) == 4


def test_files_that_are_joined_while_somebody_reads_are_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = filled(tmp_path, 2, 4, 8)
    real, stale = SyncArchive._files, SyncArchive._files(kept, "topic-id")
    kept.extend("topic-id", rows(0, 8), first=0, end=8)
    for path in files(tmp_path):
        if not path.name.startswith(f"{0:019d}-{8:019d}"):
            path.unlink()
    answers = iter([stale])
    monkeypatch.setattr(SyncArchive, "_files", lambda *asked: next(answers, None) or real(*asked))
    found = read(tmp_path)
    assert (len(found.of(ONE).pairs), found.problems) == (4, ())


def test_a_file_that_was_cut_off_leaves_only_what_was_written_after_it(tmp_path: Path) -> None:
    filled(tmp_path, 4, 8, 12)
    middle = files(tmp_path)[1]
    middle.write_bytes(middle.read_bytes()[:-100])
    found = read(tmp_path)
    assert found.of(ONE).pairs == tuple(OffsetPair(at * 100, at * 101) for at in range(8, 12, 2))
    assert found.of(ONE).left_out == 2
    assert "hole" in found.of(ONE).reason
    assert any("damaged" in problem for problem in found.problems)


def test_a_flipped_byte_is_found_out(tmp_path: Path) -> None:
    filled(tmp_path, 400, 800, 1200)
    content = bytearray(files(tmp_path)[1].read_bytes())
    content[40] ^= 0xFF
    files(tmp_path)[1].write_bytes(bytes(content))
    assert min(pair.source for pair in read(tmp_path).of(ONE).pairs) == 80_000


def test_a_file_that_is_gone_leaves_only_what_was_written_after_it(tmp_path: Path) -> None:
    filled(tmp_path, 4, 8, 12)
    files(tmp_path)[1].unlink()
    assert read(tmp_path).of(TWO).pairs == tuple(OffsetPair(at * 100, at * 101) for at in range(9, 12, 2))


def test_a_newest_file_that_is_damaged_is_read_again_from_the_topic(tmp_path: Path) -> None:
    kept = filled(tmp_path, 4, 8)
    files(tmp_path)[1].write_bytes(b"PAR1")
    assert kept.reached("topic-id") == 4
    kept.extend("topic-id", rows(4, 9), first=4, end=9)
    found = read(tmp_path)
    assert len(found.of(ONE).pairs) == 5
    assert found.of(ONE).reason == ""


def test_syncs_of_a_topic_that_was_made_again_are_left_out_and_said(tmp_path: Path) -> None:
    kept = filled(tmp_path, 4)
    kept.extend("topic-id", rows(4, 8, ids=("here", "older")), first=4, end=8)
    found = read(tmp_path)
    assert [pair.source for pair in found.of(ONE).pairs] == [0, 200]
    assert found.problems == ("4 syncs are of another orders.payments, which was made again",)


def test_an_archive_of_other_clusters_is_not_used(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    found = archive(tmp_path, clusters=("e", "another")).read({"orders.payments"})
    assert found.histories == {}
    assert "expected e/another" in found.problems[0]


def test_a_topic_of_syncs_that_was_created_again_continues_after_the_old_one(tmp_path: Path) -> None:
    kept = filled(tmp_path, 4)
    later = [SyncRow(ONE, ArchivedSync(at, 5_000 + at, 6_000 + at, 9_000 + at), ("here", "there")) for at in range(2)]
    kept.extend("second-id", later, first=0, end=2)
    found = archive(tmp_path).read({"orders.payments"}, topic_ids=IDS, sync_topic_id="second-id")
    assert found.reached == 2
    assert [pair.source for pair in found.of(ONE).pairs] == [0, 200, 5_000, 5_001]
    newer = found.with_newer({ONE: [ArchivedSync(2, 7_000, 8_000, 9_999)]}, begin=2)
    assert newer.of(ONE).pairs[-1] == OffsetPair(7_000, 8_000)
    assert len(newer.of(ONE).pairs) == 5


def test_syncs_that_were_deleted_before_anybody_looked_leave_a_hole(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    found = read(tmp_path).with_newer({ONE: [ArchivedSync(9, 900, 909, 1)]}, begin=9)
    assert found.of(ONE).pairs == (OffsetPair(900, 909),)
    assert "deleted before they were archived" in found.problems[0]


def sync(source: int, target: int) -> ArchivedSync:
    return ArchivedSync(0, source, target, 0)


def test_of_what_a_flow_copied_twice_the_earlier_copies_count() -> None:
    found = history([sync(0, 0), sync(200, 210), sync(500, 510), sync(100, 700), sync(600, 1_200)])
    assert found.pairs == (OffsetPair(0, 0), OffsetPair(200, 210), OffsetPair(500, 510), OffsetPair(600, 1_200))
    assert (found.left_out, found.repeated_from) == (1, 700)
    assert "500→510 to 100→700" in found.reason


def test_a_target_that_goes_back_ends_what_was_known() -> None:
    found = history([sync(0, 0), sync(500, 510), sync(600, 3)])
    assert (found.pairs, found.left_out, found.repeated_from) == ((OffsetPair(600, 3),), 2, 0)
    assert "500→510 to 600→3" in found.reason


def test_a_sync_that_is_written_twice_is_one() -> None:
    assert history([sync(0, 0), sync(500, 510), sync(500, 510)]) == History((OffsetPair(0, 0), OffsetPair(500, 510)))


def test_the_nearest_pair_below_is_found() -> None:
    found = history([sync(0, 0), sync(500, 510)])
    assert [found.below(at) for at in (0, 499, 500, 900)] == [
        OffsetPair(0, 0),
        OffsetPair(0, 0),
        OffsetPair(500, 510),
        OffsetPair(500, 510),
    ]
    assert history([sync(5, 5)]).below(4) is None


def test_both_directions_make_one_history() -> None:
    forth = history([sync(0, 0), sync(100, 110)])
    back = history([sync(120, 105), sync(220, 205)])
    assert composed(forth, back).pairs == (
        OffsetPair(0, 0),
        OffsetPair(100, 110),
        OffsetPair(105, 120),
        OffsetPair(205, 220),
    )


def test_of_pairs_that_contradict_each_other_the_earlier_on_the_target_counts() -> None:
    found = composed(history([sync(0, 0), sync(100, 500)]), history([sync(200, 150)]))
    assert found.pairs == (OffsetPair(0, 0), OffsetPair(150, 200))
    assert found.left_out == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30), st.data())
def test_what_is_relied_on_always_rises_on_both_clusters(found: list[tuple[int, int]], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(found)))
    forth = history([sync(*pair) for pair in found[:number]])
    back = history([sync(*pair) for pair in found[number:]])
    for pairs in (forth.pairs, back.pairs, composed(forth, back).pairs):
        for before, after in pairwise(pairs):
            assert before.source < after.source
            assert before.target < after.target
