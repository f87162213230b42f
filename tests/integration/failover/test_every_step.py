"""Each step on real brokers: it runs, is interrupted after it acted, runs again, and then has nothing left to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.failover.past_outages import PastOutage, predicted
from kafka_dr.register import Phase
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL
from support.route_file import route_file
from support.switched_group import SwitchedGroup, act_only

pytestmark = pytest.mark.kafka


def test_every_step_can_be_interrupted_after_it_acted_and_run_again_and_again(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    protection, request = group.protection, group.request()
    epoch = group.protection.state(source).epoch  # type: ignore[union-attr]
    before = outside_view.contents(protection, source)
    slow = f"{group.name}-slow"
    unread = outside_view.next_values(protection, source, outside_view.committed(protection, source)[slow])

    with protection.clients() as clients:
        assert {record.outcome for record in _three_times(StepName.PREFLIGHT, request, clients)} == {"done"}
        protection.approve(request, clients)
    for step in STEPS_AFTER_APPROVAL:
        # New clients each time, as in a new worker: only what the clusters hold is known.
        with protection.clients() as clients:
            records = _three_times(step, request, clients)
        assert {record.outcome for record in records} <= {"done", "passed"}, f"{step} ended {records}"
        # However often the step runs, the target counts as open since the first time.
        assert len({record.facts.get("opened_at") for record in records}) == 1
        open_clusters = {cluster for cluster in (source, target) if protection.takes_writes(cluster)}
        assert len(open_clusters) <= 1, f"after {step} both clusters accept writes"

    state = protection.state(target)
    assert state is not None
    assert (state.phase, state.active, state.epoch) == (Phase.STABLE, target, epoch + 1)
    assert {p: found[: len(before[p])] for p, found in outside_view.contents(protection, target).items()} == before
    moved = outside_view.next_values(protection, target, outside_view.committed(protection, target)[slow])
    assert moved == unread
    assert f'"active": "{target}"' in route_file(protection.group).read_text().replace('":"', '": "')
    group.assert_at_rest(target)


@pytest.mark.long
def test_a_finished_run_changes_nothing_and_is_reported_also_while_the_old_cluster_is_dead(
    group: SwitchedGroup,
) -> None:
    old, new, protection = group.active, group.standby, group.protection
    patient = protection.group.objectives.model_copy(update={"write_outage_seconds": 300.0})
    request = group.go(StepName.CLAIM)
    protection.produce(old, 20)
    with protection.clients() as clients:
        for step in STEPS_AFTER_APPROVAL[1:-1]:
            run_step(step, request, clients)
    protection.produce(new, 20)
    protection.changes["objectives"] = patient
    try:
        with protection.clients() as clients:
            measured = run_step(StepName.REPORT, request, clients).facts
            before = outside_view.look(protection)
            outcomes = {step: run_step(step, request, clients).outcome for step in STEPS_AFTER_APPROVAL}
            adopted_again = adopt(group.name, clients, "once-more")
            next_time = predicted(Run(group.request(), clients))
        assert outside_view.look(protection) == before
        with _dead(group, old), protection.clients() as clients:
            clients.hurry(old, 0.5)
            without = run_step(StepName.REPORT, request, clients)
            bundle = clients.evidence.newest_seal(group.name, request.run)
            assert bundle is not None
            assert clients.evidence.verify(bundle).intact
    finally:
        protection.changes.clear()

    assert set(outcomes.values()) <= {"passed", "done"}
    assert outcomes[StepName.OPEN_TARGET] == "passed"
    assert adopted_again.outcome == "passed"
    assert f"is adopted: stable on {new}" in adopted_again.detail

    assert 0 < measured["writes_refused_seconds"] < measured["write_outage_seconds"]
    assert measured["write_outage_seconds"] == measured["write_pause_seen_seconds"]
    assert "the longest pause of 2 partitions that were being written" in measured["write_outage_detail"]
    assert next_time.outages[0] == PastOutage(request.run, measured["write_outage_seconds"])
    assert measured["write_outage_seconds"] in next_time.used
    assert "earlier failover" in next_time.sentence
    assert without.outcome == "done"
    assert without.facts["writes_refused_seconds"] == measured["writes_refused_seconds"]
    verdicts = {row["name"]: (row["measured"], row["verdict"]) for row in without.facts["objectives"]}
    assert verdicts["write_outage_seconds"] == (None, "unknown")


@contextmanager
def _dead(group: SwitchedGroup, cluster: str) -> Iterator[None]:
    """Let a cluster not answer."""
    group.protection.lab.pause(outside_view.broker_of(cluster))
    try:
        yield
    finally:
        group.protection.lab.resume(outside_view.broker_of(cluster))
        group.wait_answering()


def _three_times(step: StepName, request: RunRequest, clients: Clients) -> list[StepRecord]:
    act_only(step, request, clients)
    return [run_step(step, request, clients) for _ in range(2)]
