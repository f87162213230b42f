"""The compare-and-set of the hand-over gets no answer: no step guesses, and the register decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest

from kafka_dr.clusters.writing import TransactionalWriter
from kafka_dr.errors import OutcomeUnknown
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, RunRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.roll_back import roll_back
from support import outside_view
from support.short_timeouts import ShortTimeoutClients
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def test_a_hand_over_that_was_committed_without_an_answer_can_only_be_finished(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.CUT_OVER_GROUPS)

    with _hanging(group, source, commits=True):
        _nobody_knows(group, request)
        _nothing_is_rolled_back(group, request)

    group.wait_answering()
    with pytest.raises(StepFailed, match="point of no return is passed") as refused:
        group.roll_back(request)
    assert refused.value.record.outcome == "refused"
    assert group.protection.refuses_writes(source)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=request.run, confirmed=True), clients)
    group.assert_at_rest(target)


def test_a_hand_over_that_never_arrived_can_be_rolled_back(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.CUT_OVER_GROUPS)

    with _hanging(group, source, commits=False):
        _nobody_knows(group, request)
        _nothing_is_rolled_back(group, request)

    group.wait_answering()
    state = group.protection.state(source)
    assert state is not None
    assert state.phase is Phase.SWITCHING
    assert group.protection.refuses_writes(target)
    group.roll_back(request)
    group.assert_at_rest(source)


@contextmanager
def _hanging(group: SwitchedGroup, cluster: str, *, commits: bool) -> Iterator[None]:
    """Let the cluster hang at the hand-over's commit: right after it, so that only the answer is lost, or before it.

    It is the second commit: with the first one the process takes the run.
    """
    real: Callable[..., None] = TransactionalWriter._commit
    broker, lab = outside_view.broker_of(cluster), group.protection.lab

    taken: list[bool] = []

    def commit(writer: TransactionalWriter, doing: str) -> None:
        if commits or not taken:
            real(writer, doing)
        if not taken:
            taken.append(True)
            return
        lab.pause(broker)
        raise OutcomeUnknown(f"could not {doing}: the connection broke before the answer")

    try:
        with mock.patch.object(TransactionalWriter, "_commit", commit):
            yield
    finally:
        lab.resume(broker)


def _nobody_knows(group: SwitchedGroup, request: RunRequest) -> None:
    with group.protection.clients(ShortTimeoutClients) as clients:
        record = failed(StepName.OPEN_TARGET, request, clients)
    assert record.outcome == "unknown"


def _nothing_is_rolled_back(group: SwitchedGroup, request: RunRequest) -> None:
    with group.protection.clients(ShortTimeoutClients) as clients, pytest.raises(StepFailed) as told:
        roll_back(request, clients)
    assert told.value.record.outcome == "unknown"
    assert f"the register that decides for {group.name} cannot be read" in told.value.record.detail
