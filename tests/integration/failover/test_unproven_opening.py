"""After the point of no return nobody can write until the route is flipped, so an unknown proof does not stop a run."""

from __future__ import annotations

from unittest import mock

import pytest

from kafka_dr.failover.planned import open_target
from kafka_dr.fencing import proof
from kafka_dr.outcomes import Check
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from support.protection import STEPS_AFTER_APPROVAL
from support.silent_brokers import silent_brokers
from support.switched_group import SwitchedGroup, act_only, failed

pytestmark = pytest.mark.kafka
_FORWARD = STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.OPEN_TARGET) :]


def test_a_run_with_an_unknown_opening_continues_and_never_says_that_applications_are_let_in(
    group: SwitchedGroup,
) -> None:
    target, request = group.standby, group.go(StepName.CUT_OVER_GROUPS)
    records = {}
    with silent_brokers(), group.protection.clients() as clients:
        for step in _FORWARD[:-1]:
            records[step] = run_step(step, request, clients)
        reported = failed(StepName.REPORT, request, clients)

    opened = records[StepName.OPEN_TARGET]
    assert opened.outcome == "unproven"
    assert "It is not known whether applications are let in, and the run continues: writes_allowed:" in opened.detail
    assert {check.name: check.outcome for check in opened.proofs} == {
        "register_read_back": "ok",
        "writes_allowed": "unknown",
        "groups_readable": "unknown",
        "replicator_refused": "ok",
    }
    assert "proof groups_readable: unknown. the coordinators moved" in opened.summary()
    assert {step: record.outcome for step, record in records.items()} == {
        StepName.OPEN_TARGET: "unproven",
        StepName.FLIP_ROUTE: "done",
        StepName.VERIFY: "done",
        StepName.START_REVERSE_FLOW: "done",
    }
    assert reported.outcome == "unknown"
    assert "writes_allowed" in reported.detail
    group.assert_at_rest(target)

    with group.protection.clients() as clients:
        again = run_step(StepName.REPORT, request, clients)
    assert {check.outcome for check in again.proofs} == {"ok"}


@pytest.mark.parametrize(
    "last",
    [
        StepName.OPEN_TARGET,
        pytest.param(StepName.FLIP_ROUTE, marks=pytest.mark.long),
        pytest.param(StepName.VERIFY, marks=pytest.mark.long),
        pytest.param(StepName.START_REVERSE_FLOW, marks=pytest.mark.long),
    ],
)
def test_a_run_that_did_not_know_and_died_is_finished_and_asks_again(group: SwitchedGroup, last: StepName) -> None:
    target, request = group.standby, group.go(StepName.CUT_OVER_GROUPS)
    with silent_brokers(), group.protection.clients() as clients:
        for step in _FORWARD[: _FORWARD.index(last)]:
            run_step(step, request, clients)
        act_only(last, request, clients)

    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)

    group.assert_at_rest(target)


def test_the_proofs_that_only_one_cluster_is_written_to_have_to_be_known_and_a_refusal_is_not_unknown(
    group: SwitchedGroup,
) -> None:
    """A DENY that keeps applications out can be found and removed: it is better to do that before they move."""
    target, request = group.standby, group.go(StepName.CUT_OVER_GROUPS)
    for method in ("_register_read_back", "replicator_refused"):
        name = method.removeprefix("_")
        unknown = Check(name, "unknown", "it does not say")
        with (
            silent_brokers(),
            mock.patch.object(open_target, method, return_value=unknown),
            group.protection.clients() as clients,
        ):
            stopped = failed(StepName.OPEN_TARGET, request, clients)
        assert stopped.outcome == "unknown"
        assert f"{name}: it does not say" in stopped.detail

    refused = Check("reads_allowed", "failed", "READ is not allowed")
    with mock.patch.object(proof, "reads_allowed", return_value=refused), group.protection.clients() as clients:
        stopped = failed(StepName.OPEN_TARGET, request, clients)
    assert (stopped.outcome, stopped.detail) == ("failed", "groups_readable: READ is not allowed.")

    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.assert_at_rest(target)
