"""A run that died at any point is rolled back, abandoned or finished, from the register and the journal alone."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Barrier
from unittest import mock

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.errors import NotAuthorized
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.transactions import Transactions
from kafka_dr.errors import TryAgain
from kafka_dr.health.refused_writes import check_refused_writes
from kafka_dr.register import Phase
from kafka_dr.register.kafka_register import KafkaRegister
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import ResumeRequest, StepName, switch_steps
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import SwitchStopped, switch
from kafka_dr.verbs.switch_rules import NextMove
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL
from support.switched_group import SwitchedGroup, dying, failed
from support.waiting import eventually

pytestmark = pytest.mark.kafka

_POINT_OF_NO_RETURN = STEPS_AFTER_APPROVAL.index(StepName.OPEN_TARGET)
_REVERSIBLE = STEPS_AFTER_APPROVAL[:_POINT_OF_NO_RETURN]


#: One is rolled back, one is abandoned; with ``--long`` a run dies after each of them.
_OFTEN = (StepName.FENCE_SOURCE, StepName.CUT_OVER_GROUPS)


@pytest.mark.parametrize(
    "step", [pytest.param(step, marks=[] if step in _OFTEN else pytest.mark.long) for step in _REVERSIBLE]
)
def test_a_run_that_died_before_the_hand_over_is_rolled_back_or_abandoned_and_leaves_nothing(
    group: SwitchedGroup, step: StepName
) -> None:
    source = group.active
    foreign = _deny_of_somebody_else(group, source)
    before = outside_view.look(group.protection)
    request = group.interrupted_after_act(step)

    if _REVERSIBLE.index(step) % 2:
        group.roll_back(request)
    else:
        _resume(group, "abandon")

    after = outside_view.look(group.protection)
    assert after.acls == before.acls
    assert after.offsets[source] == before.offsets[source]
    assert after.route == before.route
    group.assert_at_rest(source)
    assert foreign in outside_view.denies(group.protection, source)
    with group.protection.clients() as clients:
        assert "was rolled back" in failed(step, request, clients).detail
    assert outside_view.acls_of(group.protection, source) == before.acls[source]
    _forget(group, source)


def test_a_switch_tries_again_what_passes_and_a_second_process_of_it_ends_and_is_rolled_back(
    group: SwitchedGroup,
) -> None:
    source, target = group.active, group.standby
    request = group.interrupted_after_act(StepName.FENCE_SOURCE)
    with group.protection.clients() as clients, pytest.raises(SwitchStopped) as stopped:
        switch(request, clients, SwitchPage())
    assert stopped.value.move is NextMove.ROLL_BACK
    group.roll_back(request)
    group.assert_at_rest(source)

    request, page = group.go(StepName.PREFLIGHT), SwitchPage()
    with group.protection.clients() as clients:
        group.protection.approve(request, clients)
        with _lost_once(Acls, "add"), _lost_once(Groups, "set_offsets"), _lost_once(Acls, "remove"):
            done = switch(request, clients, page)
        assert tuple(record.step for record in done) == switch_steps("planned_failover")
        tried = [record.step for record in page.records if not record.good]
        assert tried == [StepName.FENCE_SOURCE, StepName.CUT_OVER_GROUPS, StepName.OPEN_TARGET]
        state = group.protection.state(target)
        assert state is not None
        assert (state.phase, state.attempt, state.executor) == (Phase.HANDED_OVER, 1, clients.executor.name)
        for step in (StepName.VERIFY, StepName.START_REVERSE_FLOW, StepName.REPORT):
            run_step(step, request, clients)
    group.assert_at_rest(target)


def test_two_groups_switch_at_the_same_time_and_do_not_disturb_each_other(
    group: SwitchedGroup, own_group: SwitchedGroup
) -> None:
    targets = {each.name: each.standby for each in (group, own_group)}
    together = Barrier(len(targets), timeout=120)

    def switched(each: SwitchedGroup) -> list[str]:
        request = each.go(StepName.PREFLIGHT)
        with each.protection.clients() as clients:
            each.protection.approve(request, clients)
            together.wait()
            done = switch(request, clients, SwitchPage())
            for step in (StepName.VERIFY, StepName.START_REVERSE_FLOW, StepName.REPORT):
                run_step(step, request, clients)
        return [record.step for record in done]

    with ThreadPoolExecutor(len(targets)) as pool:
        steps = list(switch_steps("planned_failover"))
        assert list(pool.map(switched, (group, own_group))) == [steps, steps]
    for each in (group, own_group):
        each.assert_at_rest(targets[each.name])


def test_an_application_of_two_groups_continues_in_the_one_that_does_not_move(
    group: SwitchedGroup, own_group: SwitchedGroup
) -> None:
    assert group.protection.group.principals == own_group.protection.group.principals
    request = group.go(StepName.FENCE_SOURCE)
    with pytest.raises(NotAuthorized):
        group.protection.produce(group.active, 2)
    assert own_group.protection.produce(own_group.active, 2) == 2
    group.roll_back(request)
    assert group.protection.produce(group.active, 2) == 2


def test_health_names_a_run_that_refuses_writes_for_too_long_and_the_commands_that_end_it(
    group: SwitchedGroup,
) -> None:
    request = group.go(StepName.FENCE_SOURCE)
    state = group.protection.state(group.active)
    assert state is not None
    with group.protection.clients() as clients:
        journals, now = GroupContext(group.name, clients).journals(request.run), clients.clock.now()
        begun = datetime.fromisoformat(journals[0]["fence_begun"]["at"])
        assert check_refused_writes(state, journals, now=now, allowed=now - begun) is None
        found = check_refused_writes(state, journals, now=now, allowed=now - begun - timedelta(milliseconds=1))
    group.roll_back(request)
    assert found is not None
    assert f"abandon --group {group.name} --run {request.run}" in found.detail
    after = group.protection.state(group.active)
    assert after is not None
    assert check_refused_writes(after, journals, now=now, allowed=timedelta()) is None


@dataclasses.dataclass
class SwitchPage:
    """Keeps what a switch says while it runs."""

    records: list[StepRecord] = dataclasses.field(default_factory=list)
    said: list[str] = dataclasses.field(default_factory=list)

    def begins(self, step: StepName) -> None:
        self.said.append(step)

    def ended(self, record: StepRecord) -> None:
        self.records.append(record)

    def says(self, sentence: str) -> None:
        self.said.append(sentence)


@contextmanager
def _lost_once(at: object, method: str) -> Iterator[None]:
    """Let the first call of a method lose its connection."""
    real, calls = getattr(at, method), itertools.count(1)

    def lost(*arguments: object, **named: object) -> object:
        if next(calls) == 1:
            raise TryAgain("the connection was lost")
        return real(*arguments, **named)

    with mock.patch.object(at, method, lost):
        yield


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS_AFTER_APPROVAL[:-1])
def test_a_run_that_died_anywhere_is_finished_by_a_process_that_knows_nothing_of_it(
    group: SwitchedGroup, step: StepName
) -> None:
    source, target = group.active, group.standby
    request = group.interrupted_after_act(step)

    _resume(group, "finish", run=request.run)

    group.assert_at_rest(target)
    assert group.protection.refuses_writes(source)


@dataclasses.dataclass(frozen=True)
class Death:
    """The point at which a process dies inside a step.

    :param at: the class whose method is the last thing done
    """

    step: StepName
    at: type
    method: str
    when: str = "after"
    nth: int = 1
    decision: str = "finish"

    def __str__(self) -> str:
        return f"{self.step}-{self.when}-{self.method}-{self.nth}"


_DEATHS = (
    Death(StepName.STOP_FLOW, Transactions, "take_over", decision="abandon"),
    Death(StepName.CUT_OVER_GROUPS, Groups, "set_offsets", when="before"),
    # The first time, the process takes the run.
    Death(StepName.OPEN_TARGET, KafkaRegister, "compare_and_set", nth=2),
    Death(StepName.START_REVERSE_FLOW, KafkaRegister, "compare_and_set", nth=2),
)
_MORE_DEATHS = (
    Death(StepName.CLAIM, KafkaRegister, "compare_and_set"),
    Death(StepName.DRAIN, Acls, "add", decision="abandon"),
    Death(StepName.START_REVERSE_FLOW, Mm2Replicator, "seed"),
    Death(StepName.OPEN_TARGET, Acls, "remove"),
    Death(StepName.FENCE_SOURCE, Acls, "add", decision="abandon"),
    Death(StepName.FENCE_SOURCE, KafkaRegister, "change_added_acls", decision="abandon"),
    Death(StepName.FENCE_SOURCE, Acls, "add", nth=2),
    Death(StepName.STOP_FLOW, Mm2Replicator, "stop", decision="abandon"),
    Death(StepName.OPEN_TARGET, KafkaRegister, "copy"),
    Death(StepName.START_REVERSE_FLOW, KafkaRegister, "write_fact"),
)


@pytest.mark.parametrize(
    "death", [*_DEATHS, *(pytest.param(death, marks=pytest.mark.long) for death in _MORE_DEATHS)], ids=str
)
def test_a_run_that_died_between_two_changes_of_one_step_can_be_finished(group: SwitchedGroup, death: Death) -> None:
    source, target = group.active, group.standby
    request = group.killed(death.step, dying(death.at, death.method, when=death.when, nth=death.nth))

    if death.step in STEPS_AFTER_APPROVAL[_POINT_OF_NO_RETURN:] and death is not _DEATHS[-1]:
        _cannot_be_abandoned(group, request.run)
    _resume(group, death.decision, run=request.run)

    if death.decision == "abandon":
        group.assert_at_rest(source)
        return
    group.assert_at_rest(target)
    with group.protection.clients() as clients:
        assert run_step(StepName.REPORT, request, clients).outcome == "done"


def _resume(group: SwitchedGroup, decision: str, *, run: str | None = None) -> None:
    with group.protection.clients() as clients:
        record = resume(ResumeRequest(group.name, decision, run=run, reason="it died", confirmed=True), clients)  # type: ignore[arg-type]
        kept = clients.evidence.newest(group.name, record.run, "resume")
        assert kept is not None
        assert (kept["facts"]["resumed"]["decision"], kept["facts"]["resumed"]["reason"]) == (decision, "it died")
        assert kept["proofs"]
        seal = clients.evidence.newest_seal(group.name, record.run)
        assert seal is not None
        assert clients.evidence.verify(seal).added == ()


def _cannot_be_abandoned(group: SwitchedGroup, run: str) -> None:
    # Connect answers before it has ended the tasks of a connector that was stopped.
    eventually(lambda: not any("STOPPED " in each for each in outside_view.look(group.protection).connectors.values()))
    before = outside_view.look(group.protection)
    with pytest.raises(StepFailed, match="point of no return is passed, so the run can only be finished") as refused:
        _resume(group, "abandon")
    assert refused.value.record.outcome == "refused"
    assert outside_view.look(group.protection) == before
    with group.protection.clients() as clients:
        kept = clients.evidence.newest(group.name, run, "resume")
    assert kept is not None
    assert (kept["outcome"], kept["facts"]["resumed"]["reason"]) == ("refused", "it died")


def _deny_of_somebody_else(group: SwitchedGroup, cluster: str) -> Acl:
    """Add a DENY that looks like one of this project: it was there before, so no run may lift it."""
    deny = Acl(
        ResourceType.TOPIC,
        f"{group.name}.",
        PatternType.PREFIXED,
        "User:billing-app",
        AclOperation.WRITE,
        AclPermission.DENY,
    )
    with group.protection.cluster(cluster, "admin") as admin:
        admin.acls.add([deny])
    group.foreign[cluster] = frozenset({deny})
    return deny


def _forget(group: SwitchedGroup, cluster: str) -> None:
    with group.protection.cluster(cluster, "admin") as admin:
        admin.acls.remove(group.foreign.pop(cluster))
