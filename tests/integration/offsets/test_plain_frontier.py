"""The verified frontier on real clusters: to the end of a true copy, and to the first record that is not the same."""

from __future__ import annotations

import pytest

from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.kept_frontier import FileFrontierStore
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.offsets.plain_frontier import PlainFrontier
from support.plain_flow import PlainFlow

pytestmark = pytest.mark.kafka


def frontier(flowing: PlainFlow, *, epoch: int = 1, starts: dict | None = None) -> PlainFrontier:  # type: ignore[type-arg]
    return PlainFrontier(
        flowing.audit(flowing.active),
        flowing.audit(flowing.standby),
        store=FileFrontierStore(flowing.protection.folder / "evidence", flowing.protection.name),
        starts=starts,
        epoch=epoch,
    )


def advance(flowing: PlainFlow, **how):  # type: ignore[no-untyped-def]
    until = flowing.audit(flowing.active).topics.last_stable_offsets(flowing.partitions)
    return until, frontier(flowing, **how).advance(until)


def test_a_true_copy_is_verified_to_the_end_and_then_from_there_on(flowing: PlainFlow) -> None:
    flowing.write(60)
    flowing.write_in_transactions(6)
    flowing.start()
    flowing.wait_copied()
    until, verified = advance(flowing)
    assert [found.finding for found in verified.values()] == [None, None]
    assert {p: found.source_offset for p, found in verified.items()} == until
    assert [found.records for found in verified.values()] == [30 + 1 + 4] * 2
    flowing.write(20)
    flowing.wait_copied()
    _, later = advance(flowing)
    assert [found.records for found in later.values()] == [30 + 1 + 4 + 11] * 2


def test_a_foreign_record_stops_it_there_and_it_stays_there(flowing: PlainFlow) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    flowing.write_foreign("west")
    flowing.write(20)
    flowing.wait_copied()
    for _ in range(2):
        _, verified = advance(flowing)
        for found in verified.values():
            assert found.finding is not None
            assert (found.finding.kind, found.finding.records, found.records) == (FindingKind.FOREIGN, 1, 11)


def test_the_newest_record_of_a_key_that_was_passed_over_is_lost_on_a_compacted_topic_too(flowing: PlainFlow) -> None:
    for cluster in ("east", "west"):
        with flowing.protection.cluster(cluster, "admin") as admin:
            assert not admin.configs.set({flowing.protection.topic: {"cleanup.policy": "compact"}})
    flowing.start()
    with flowing.protection.cluster("east", "admin") as admin:
        admin.writing.append(NewRecord(p, b"before", b"0") for p in flowing.partitions)
        flowing.wait_copied()
        flowing.stop()
        admin.writing.append(NewRecord(p, key, b"1") for key in (b"alone", b"last") for p in flowing.partitions)
    # The marker of the transaction that copied the record before is a hole, as the cleaner leaves one.
    flowing.start(dict.fromkeys(flowing.partitions, 2))
    flowing.wait_copied()
    _, verified = advance(flowing)
    for found in verified.values():
        assert found.finding is not None
        assert (found.finding.kind, found.finding.source_offset, found.records) == (FindingKind.LOST, 1, 1)


def test_what_was_not_copied_is_missing_and_never_equal(flowing: PlainFlow) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    flowing.stop()
    flowing.write(20)
    _, verified = advance(flowing)
    for found in verified.values():
        assert found.finding is not None
        assert (found.finding.kind, found.records) == (FindingKind.MISSING, 11)


def test_another_epoch_begins_at_its_own_seed(flowing: PlainFlow) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    advance(flowing)
    flowing.switch()
    flowing.write(10)
    flowing.wait_copied()
    starts = {p: s for p, [s] in flowing.known_seeds().items()}
    _, verified = advance(flowing, epoch=2, starts=starts)
    assert [(found.finding, found.records) for found in verified.values()] == [(None, 6), (None, 6)]


def test_of_a_topic_that_is_gone_nothing_is_verified(flowing: PlainFlow) -> None:
    flowing.start()
    flowing.write(20)
    flowing.wait_copied()
    advance(flowing)
    flowing.stop()
    flowing.delete("west")
    _, verified = advance(flowing)
    for found in verified.values():
        assert found.finding is not None
        assert (found.finding.kind, found.source_offset, found.records) == (FindingKind.MISSING, 0, 0)


def test_a_topic_that_was_created_again_is_compared_again(flowing: PlainFlow) -> None:
    flowing.start()
    flowing.write(20)
    flowing.wait_copied()
    _, before = advance(flowing)
    flowing.stop()
    flowing.create_again("west")
    _, verified = advance(flowing)
    assert [found.records for found in before.values()] == [11, 11]
    for found in verified.values():
        assert found.finding is not None
        assert (found.finding.kind, found.source_offset) == (FindingKind.MISSING, 0)
