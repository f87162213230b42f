"""Offsets translated between real clusters, judged by the logs: the next record that a group reads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_dr.clusters.writing import NewRecord
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.syncs.archive import SyncLookup
from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_content import translate_by_content
from kafka_dr.positions import OffsetPair, TopicPartition
from support.cleaner import a_quick_cleaner
from support.plain_flow import PlainFlow

pytestmark = pytest.mark.kafka


def every_position(flowing: PlainFlow, cluster: str) -> dict[TopicPartition, list[int]]:
    """Return each offset that a group can have: before the first record, after each, and at the very end."""
    held = flowing.audit(cluster).topics.last_stable_offsets(flowing.partitions)
    return {
        partition: sorted({0, *(offset + 1 for offset, _ in flowing.log(cluster, partition)), held[partition]})
        for partition in flowing.partitions
    }


def check(
    flowing: PlainFlow, positions: Mapping[TopicPartition, list[int]], basis: TranslationBasis
) -> dict[tuple[TopicPartition, int], Translation]:
    """Translate and hold every answer against both logs: the records that follow must be the same ones."""
    found = translate_by_content(basis, positions)
    for partition, wanted in positions.items():
        source, target = flowing.log(flowing.active, partition), flowing.log(flowing.standby, partition)
        for position in wanted:
            answer = found[partition, position]
            assert answer.kind == "exact", (partition, answer)
            unread = [content for offset, content in source if offset >= position]
            assert [content for offset, content in target if offset >= (answer.target_offset or 0)] == unread
    return dict(found)


def between(
    flowing: PlainFlow, *, seeds: bool = True, cache: AnchorCache | None = None, keeps: bool = True
) -> TranslationBasis:
    """Return what a translation rests on, without maps of audits.

    :param cache: without one no pairs are known, and none are kept
    """
    nothing, group = flowing.protection.folder / "nothing", flowing.protection.name
    return TranslationBasis(
        flowing.audit(flowing.active),
        flowing.audit(flowing.standby),
        syncs=flowing.sync_lookup(flowing.active, flowing.standby),
        maps=MapStore(nothing, group, source=(flowing.active, ""), target=(flowing.standby, "")),
        cache=cache or AnchorCache(nothing, group),
        keeps=keeps and cache is not None,
        seeds=flowing.known_seeds() if seeds else {},
    )


def test_every_position_of_a_log_with_aborted_and_control_records_is_exact(flowing: PlainFlow) -> None:
    flowing.write(150)
    flowing.start()
    flowing.write_in_transactions(20)
    flowing.write(150)
    flowing.wait_copied()
    check(flowing, every_position(flowing, "east"), between(flowing))


def test_a_group_that_never_catches_up_comes_through_four_switches(flowing: PlainFlow) -> None:
    flowing.write(100)
    flowing.start()
    flowing.wait_copied()
    slow = {partition: flowing.log("east", partition)[6][0] + 1 for partition in flowing.partitions}
    for number in range(4):
        flowing.write_in_transactions(6)
        flowing.write(40)
        flowing.wait_copied()
        positions = every_position(flowing, flowing.active)
        assert all(slow[partition] in found for partition, found in positions.items())
        # Journaled seeds are a help, not a condition.
        found = check(flowing, positions, between(flowing, seeds=number % 2 == 0))
        slow = {partition: found[partition, offset].target_offset or 0 for partition, offset in slow.items()}
        flowing.switch()
    for partition, offset in slow.items():
        log = flowing.log(flowing.active, partition)
        assert len([1 for at, _ in log if at < offset]) == 7


@pytest.mark.parametrize("cleaned", ["east", "west"])
def test_what_one_cleaner_took_away_makes_no_group_late_and_what_comes_again_is_counted(
    flowing: PlainFlow, cleaned: str
) -> None:
    protection = flowing.protection
    table = TopicPartition(f"{protection.name}.table", 0)
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
    now_ms = int(time.time() * 1000)
    records = [NewRecord(table, f"k{n % 5}".encode(), f"v{n}".encode(), (), now_ms - 60_000 + n) for n in range(40)]
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            admin.topics.create(table.topic, partitions=1, replication_factor=1, config=config)
            admin.writing.append(records)
    with protection.cluster(cleaned, "admin") as admin, a_quick_cleaner(protection, cleaned):
        deadline = time.monotonic() + 60
        while len(flowing.log(cleaned, table)) > 12:
            assert time.monotonic() < deadline, "the cleaner did nothing"
            time.sleep(0.2)
            admin.writing.append([NewRecord(table, b"roll", None)])

    east, west = flowing.log("east", table), flowing.log("west", table)
    found = translate_by_content(between(flowing, seeds=False), {table: list(range(41))})

    for position in range(41):
        answer = found[table, position]
        assert answer.target_offset is not None, answer
        # Offsets are the same on both clusters here, so those below the position were read.
        again = [offset for offset, _ in west if answer.target_offset <= offset < position]
        assert not [offset for offset, _ in west if position <= offset < answer.target_offset], answer
        assert answer.redelivered_at_most is not None
        assert len(again) <= answer.redelivered_at_most, (answer, east, west)


def test_what_was_learned_ahead_is_translated_the_same_without_a_look_at_the_syncs_and_without_learning_more(
    flowing: PlainFlow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flowing.write(200)
    flowing.start()
    flowing.wait_copied()
    positions = every_position(flowing, "east")
    store = AnchorCache(tmp_path, flowing.protection.name)
    fresh = check(flowing, positions, between(flowing))
    translate_by_content(
        between(flowing, cache=store), {partition: found[::10] for partition, found in positions.items()}
    )
    kept = store.read("east-to-west")
    monkeypatch.setattr(SyncLookup, "read", lambda _lookup, _topics: pytest.fail("it read the syncs"))
    assert check(flowing, positions, between(flowing, cache=store, keeps=False)) == fresh
    assert store.read("east-to-west") == kept


def learned(flowing: PlainFlow, folder: Path) -> tuple[dict[TopicPartition, list[int]], AnchorCache]:
    """Translate every offset of a flow, and return the offsets and the cache of what was learned on the way."""
    flowing.write(60)
    flowing.start()
    flowing.wait_copied()
    positions = every_position(flowing, "east")
    store = AnchorCache(folder, flowing.protection.name)
    translate_by_content(between(flowing, cache=store), positions)
    return positions, store


def test_what_was_learned_of_a_topic_that_was_created_again_is_not_used(flowing: PlainFlow, tmp_path: Path) -> None:
    positions, store = learned(flowing, tmp_path)
    kept = store.read("east-to-west")
    wrong = {key: tuple(OffsetPair(here, there + 3) for here, there in found) for key, found in kept.offsets.items()}
    store.write("east-to-west", CachedPairs(dict.fromkeys(kept.topic_ids, ("other", "other")), wrong))
    check(flowing, positions, between(flowing, cache=store))
    assert store.read("east-to-west").topic_ids == kept.topic_ids


def test_pairs_that_are_wrong_are_found_out_by_content(flowing: PlainFlow, tmp_path: Path) -> None:
    positions, store = learned(flowing, tmp_path)
    kept = store.read("east-to-west")
    wrong = {key: tuple(OffsetPair(here, there + 1) for here, there in found) for key, found in kept.offsets.items()}
    store.write("east-to-west", CachedPairs(kept.topic_ids, wrong))
    check(flowing, positions, between(flowing, cache=store))


def test_foreign_records_on_the_target_cost_a_bracket_and_no_more(flowing: PlainFlow) -> None:
    flowing.write(60)
    flowing.start()
    flowing.wait_copied()
    flowing.write_foreign("west")
    flowing.write(400)
    flowing.wait_copied()
    ends = flowing.audit("east").topics.last_stable_offsets(flowing.partitions)
    found = translate_by_content(
        between(flowing), {partition: [10, ends[partition]] for partition in flowing.partitions}
    )
    for partition in flowing.partitions:
        assert found[partition, 10].kind == "exact"
        head = found[partition, ends[partition]]
        read = [content for _, content in flowing.log("east", partition)]
        following = [c for offset, c in flowing.log("west", partition) if offset >= (head.target_offset or 0)]
        assert following == read[len(read) - len(following) :]
        assert len(following) <= 101


def test_a_position_past_the_end_is_unknown(flowing: PlainFlow) -> None:
    flowing.write(10)
    flowing.start()
    flowing.wait_copied()
    partition = flowing.partitions[0]
    answer = translate_by_content(between(flowing), {partition: [500]})[partition, 500]
    assert (answer.kind, answer.target_offset) == ("unknown", None)


def test_a_group_that_has_not_read_what_expired_on_the_target_first_is_unknown(flowing: PlainFlow) -> None:
    flowing.write(60)
    flowing.start()
    flowing.write_in_transactions(20)
    flowing.wait_copied()
    partition = flowing.partitions[0]
    source, target = flowing.log("east", partition), flowing.log("west", partition)
    behind, ahead = source[5][0], source[-1][0]
    flowing.expire("west", partition, target[10][0])
    found = translate_by_content(between(flowing), {partition: [behind, ahead]})
    assert (found[partition, behind].kind, found[partition, behind].target_offset) == ("unknown", None)
    assert "the source still holds" in found[partition, behind].reason
    assert found[partition, ahead].kind == "exact"
    assert target[-2][0] < (found[partition, ahead].target_offset or 0) <= target[-1][0]


@pytest.mark.parametrize("sides", [("west",), ("east",), ("east", "west")])
def test_logs_that_begin_differently_do_not_matter_if_both_hold_the_records_around_an_offset(
    flowing: PlainFlow, sides: tuple[str, ...]
) -> None:
    flowing.write(180)
    flowing.start()
    flowing.wait_copied()
    # On both clusters something expired, and not the same.
    for number, side in enumerate(sides):
        for partition in flowing.partitions:
            flowing.expire(side, partition, flowing.log(side, partition)[50 - 10 * number][0])
    held = {p: flowing.log("east", p)[0][0] for p in flowing.partitions}
    read = {p: 50 if sides == ("west",) else held[p] for p in flowing.partitions}
    positions = {p: sorted({read[p], read[p] + 1, 70, 80, 91}) for p in flowing.partitions}
    check(flowing, positions, between(flowing, seeds=False))
    if sides == ("west",):
        # A group that has not read what the target deleted still has no translation.
        unread = {partition: [30] for partition in flowing.partitions}
        found = translate_by_content(between(flowing), unread)
        assert {answer.kind for answer in found.values()} == {"unknown"}


def test_nothing_is_asked_of_the_clusters_for_groups_that_never_committed(flowing: PlainFlow) -> None:
    assert translate_by_content(between(flowing), {flowing.partitions[0]: []}) == {}
