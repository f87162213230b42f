"""Records in flight while preflight looks are never called lost, and a record that is lost is still found."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import Any
from unittest import mock

import pytest
from confluent_kafka import Producer

from kafka_dr.audit.kept_frontier import FileFrontierStore
from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.failover.planned import fence_source
from kafka_dr.failover.planned.drain import source_ends
from kafka_dr.group_offsets import compared_ahead, copy_age, live_verification
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.offsets.plain_frontier import PlainFrontier
from kafka_dr.offsets.translate.by_content import proven_before, translate_by_content
from kafka_dr.offsets.translate.pipeline import offsets_of
from kafka_dr.outcomes import Check
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import run_step
from lab import rights
from support import mirrormaker
from support.protection import Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka

_ABOUT_COPIES = ("flow_moves", "copied_in_time", "content_verified", "positions_translate")


def _preflight(group: SwitchedGroup) -> dict[str, Check]:
    """Run only preflight, and return what it says about the copy, whatever it says about the rest."""
    with group.protection.clients() as clients:
        try:
            record = run_step(StepName.PREFLIGHT, group.request(), clients)
        except StepFailed as failure:
            record = failure.record
    return {check.name: check for check in record.checks if check.name in _ABOUT_COPIES}


@contextmanager
def _one_more_batch_crosses_after_each_look(group: SwitchedGroup) -> Iterator[None]:
    """Let the flow copy more records right after each look at both logs, and write more."""
    real = PlainFrontier.advance

    def advance(frontier: PlainFrontier, until: Mapping[TopicPartition, int]) -> Any:
        found = real(frontier, until)
        with group.protection.clients() as clients:
            replicator = clients.replicator(group.flow)
            replicator.resume()
            replicator.wait_running(30)
            group.wait_equal()
            replicator.stop()
            replicator.wait_stopped(30)
        return found

    with mock.patch.object(PlainFrontier, "advance", advance):
        yield


def test_a_record_that_is_copied_between_the_look_and_the_question_is_not_lost(group: SwitchedGroup) -> None:
    with group.protection.clients() as clients:
        replicator = clients.replicator(group.flow)
        replicator.stop()
        replicator.wait_stopped(30)
        try:
            group.produce(20)
            with _one_more_batch_crosses_after_each_look(group):
                found = _preflight(group)["content_verified"]
        finally:
            replicator.resume()
            replicator.wait_running(30)

    assert (found.outcome, "lacks" in found.detail) == ("ok", False), found


def test_a_record_that_bears_an_old_time_is_late_only_if_the_flow_does_not_take_it(
    protection: Protection, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = SwitchedGroup.adopt(protection, records=0)
    an_hour_ago = int((time.time() - 3600) * 1000)
    with protection.clients() as clients, protection.cluster("east", rights.ORDERS_APP) as client:
        run = Run(group.request(), clients)
        replicator = clients.replicator(group.flow)
        replicator.stop()
        replicator.wait_stopped(30)
        client.writing.append(NewRecord(p, b"old", b"", timestamp_ms=an_hour_ago) for p in group.at(0, 0))
        near = live_verification.advance(run)
        stopped = copy_age.copied_in_time(run, near)
        resumed = Timer(0.3, replicator.resume)
        never = fence_source.never_replicated(run, run.partitions("east"))
        # On a loaded machine it takes longer to start a flow than to copy a record.
        monkeypatch.setattr(fence_source, "ARRIVAL_SECONDS", 60)
        monkeypatch.setattr(copy_age, "ARRIVAL_SECONDS", 60)
        resumed.start()
        # The first record of a partition is in flight: the fence does not call that partition never replicated.
        soon = fence_source.never_replicated(run, run.partitions("east"))
        resumed.join()
        passed = copy_age.copied_in_time(run, near)
        tail = live_verification.judge_tail(run, near)
    assert "2 records are left to verify, 2 of them not copied yet" in tail.detail
    assert (tail.outcome, tail.facts) == ("ok", {"tail_records": 2, "not_copied_yet": 2})
    assert (stopped.outcome, passed.outcome) == ("failed", "ok"), (stopped, passed)
    assert (never, soon) == (sorted(group.at(0, 0)), [])


@pytest.mark.long
def test_under_load_nothing_is_called_lost_and_what_is_lost_is_found(protection: Protection) -> None:
    group = SwitchedGroup.adopt(protection)
    with protection.clients() as clients:
        replicator = mirrormaker.connector(clients, group.flow)
        slow = replicator.config() | {"source.consumer.max.poll.records": "1"}
        replicator.connect.update(group.flow.name, slow)
        looks: list[dict[str, Check]] = []
        with _load(group):
            # On a busy machine the applications may be as slow as the flow for a while.
            while len(looks) < 3 or (_behind(looks) == 0 and len(looks) < 12):
                looks.append(_preflight(group))
        lacks = [check.detail for found in looks for check in found.values() if "lacks" in check.detail]
        assert lacks == []
        assert {found["content_verified"].outcome for found in looks} == {"ok"}, looks
        assert _behind(looks) > 0, "the flow never lagged, so nothing was tried"

        # Now the flow skips ten records, as it does if they expired before it read them.
        replicator.ensure()
        replicator.wait_running(30)
        protection.wait_copied(seconds=120)
        replicator.stop()
        replicator.wait_stopped(30)
        protection.produce("east", 10)
        operator = clients.cluster("east", "operator").topics
        ends = operator.last_stable_offsets([TopicPartition(protection.topic, n) for n in range(2)])
        replicator.seed({**replicator.positions(), **ends}, epoch=1)
        replicator.resume()
        replicator.wait_running(30)
        with _load(group, per_second=50):
            found = _preflight(group)["content_verified"]
    assert found.outcome == "failed", found
    lost = min(ends.values()) - 5
    assert re.search(rf"(source offset|record) {lost}\b", found.detail), found


def _behind(looks: Sequence[Mapping[str, Check]]) -> int:
    """Return by how many records the flow lagged at most when it was looked at."""
    return max(int(found["content_verified"].facts["not_copied_yet"]) for found in looks)


@contextmanager
def _load(group: SwitchedGroup, *, per_second: int = 400) -> Iterator[None]:
    """Write to the active cluster without a pause."""
    over = Event()
    settings = group.protection.lab.client_settings(group.active, rights.ORDERS_APP)

    def write() -> None:
        producer = Producer({**settings, "linger.ms": 5})
        while not over.is_set():
            for number in range(max(1, per_second // 50)):
                producer.produce(group.protection.topic, value=b"%d" % time.time_ns(), partition=number % 2)
            producer.flush(10)
            over.wait(0.02)

    writer = Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join(30)


def test_what_a_claim_has_compared_is_not_compared_again_while_applications_wait(group: SwitchedGroup) -> None:
    """Else the outage would last as long as comparing everything that was written since the direction began."""
    request, direction = group.go(StepName.CLAIM), f"{group.active}-to-{group.standby}"
    with group.protection.clients() as clients:
        run = Run(request, clients)
        ends = run.operator(run.source).topics.last_stable_offsets(run.partitions(run.source))
        kept = FileFrontierStore(run.evidence_root, group.name).read(direction)
    assert kept is not None
    assert {TopicPartition(*about): point.source_offset for about, point in kept.points.items()} == ends
    assert sum(ends.values()) > 0


@pytest.fixture
def long_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little time a claim takes, it counts as a long one of a group with many offsets."""
    monkeypatch.setattr(compared_ahead, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(compared_ahead, "FEW_OFFSETS", 0)


@pytest.mark.usefixtures("long_claim")
def test_what_is_written_during_a_long_claim_is_compared_right_before_the_group_is_taken(group: SwitchedGroup) -> None:
    direction = f"{group.active}-to-{group.standby}"
    with group.protection.clients() as clients:
        run = Run(group.request(), clients)
        group.protection.produce(group.active, 20)
        group.wait_equal()
        assert compared_ahead.compare_before_claim(run) == {}
        ends = run.operator(run.source).topics.last_stable_offsets(run.partitions(run.source))
        kept = FileFrontierStore(run.evidence_root, group.name).read(direction)
        committed = offsets_of(run.operator(run.source).groups.offsets(run.moved_groups(run.source)))
        answered = clients.proven_answers.among(direction, committed)
    assert kept is not None
    assert {TopicPartition(*about): point.source_offset for about, point in kept.points.items()} == ends
    assert {p: set(found) for p, found in answered.items()} == committed != {}


@pytest.mark.usefixtures("long_claim")
def test_a_fault_that_only_the_end_of_a_long_claim_shows_leaves_the_group_as_it_is(own_group: SwitchedGroup) -> None:
    group = own_group
    request = group.go(StepName.PREFLIGHT)
    with group.protection.clients() as clients:
        group.protection.approve(request, clients)
        partition = next(p for p in Run(request, clients).partitions(group.active) if "canary" not in p.topic)
        real = compared_ahead._translate_ahead

        def written_meanwhile(run: Run) -> None:
            real(run)
            with group.protection.cluster(group.standby, "admin") as admin:
                admin.writing.append([NewRecord(partition, None, b"no copy")])
            group.protection.produce(group.active, 20)
            group.protection.wait_copied(source=group.active, target=group.standby)

        with mock.patch.object(compared_ahead, "_translate_ahead", written_meanwhile):
            record = failed(StepName.CLAIM, request, clients)
    assert "is not equal to" in record.detail
    assert group.protection.takes_writes(group.active)


def test_where_a_group_resumes_that_has_read_everything_is_known_from_the_drain(group: SwitchedGroup) -> None:
    request = group.request()
    with group.protection.clients() as clients:
        group.protection.run_until(request, StepName.CLAIM, clients)
        # Written after the last look of the claim, so that the drain has to compare it.
        group.protection.produce(group.active, 20)
        for step in (StepName.FENCE_SOURCE, StepName.DRAIN):
            run_step(step, request, clients)
        run = Run(request, clients)
        basis = basis_of(run)
        ends = {p: [end] for p, end in source_ends(run).items()}
        at_the_ends = proven_before(basis, ends)
        compared = translate_by_content(basis, {p: ends[p] for p, _ in at_the_ends})
        target_ends = run.operator(run.target).topics.high_watermarks(p for p, _ in at_the_ends)
    assert at_the_ends
    for (partition, end), answer in at_the_ends.items():
        by_content = compared[partition, end]
        assert (answer.kind, answer.proof, by_content.kind) == ("exact", "right", "exact")
        # Between the last record and the end of the log there is nothing but the markers of transactions.
        assert (by_content.target_offset or 0) <= (answer.target_offset or 0) == target_ends[partition]
