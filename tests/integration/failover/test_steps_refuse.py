"""Reasons for which the steps after the approval refuse: one run meets each of them, and is finished in the end.

Each obstacle is removed again, and the same step then succeeds: the refused attempt left nothing that stops it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from unittest import mock

import pytest
from confluent_kafka import Producer

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.register import KafkaRegister, Phase, RegisterState
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import ResumeRequest, RunRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from support.protection import Protection
from support.route_file import route_file
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka

#: A principal that the topology did not name when the group was adopted.
_CAROL = "User:carol"


@dataclass
class Hindered:
    """A run from east to west, and what its steps said while they were refused."""

    group: SwitchedGroup
    request: RunRequest
    said: dict[str, StepRecord] = field(default_factory=dict)

    def refused(self, reason: str, step: StepName) -> None:
        """Run a step that must not succeed."""
        with self.group.protection.clients() as clients, mock.patch("kafka_dr.runs.group_context.PROOF_SECONDS", 0.3):
            self.said[reason] = failed(step, self.request, clients)

    def done(self, *steps: StepName) -> None:
        """Run steps that have to succeed."""
        for step in steps:
            with self.group.protection.clients() as clients:
                run_step(step, self.request, clients)

    @contextmanager
    def acl(self, cluster: str, acl: Acl, *, present: bool) -> Iterator[None]:
        """Add or remove an ACL for a while."""
        with self.group.protection.cluster(cluster, "admin") as admin:
            first, then = (admin.acls.add, admin.acls.remove) if present else (admin.acls.remove, admin.acls.add)
            first([acl])
            yield
            then([acl])

    @contextmanager
    def changed(self, **changes: object) -> Iterator[None]:
        """Change the topology for a while."""
        self.group.protection.changes = changes
        yield
        self.group.protection.changes = {}

    @contextmanager
    def soon_given_up(self) -> Iterator[None]:
        timing = self.group.protection.group.timing.model_copy(update={"step_deadline_seconds": 0.3})
        with self.changed(timing=timing):
            yield


@contextmanager
def _open_transaction(group: SwitchedGroup, cluster: str, transactional_id: str) -> Iterator[Callable[[], None]]:
    """Put records of an open transaction into a log; the returned function aborts it, and nobody reads them."""
    settings = group.protection.lab.client_settings(cluster, "admin")
    producer = Producer({**settings, "transactional.id": transactional_id, "transaction.timeout.ms": 60_000})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(group.protection.topic, value=b"never", partition=0)
    assert producer.flush(20) == 0
    yield lambda: producer.abort_transaction(20)


@pytest.fixture(scope="module")
def hindered(_groups: Callable[[], SwitchedGroup]) -> Hindered:
    group = _groups()
    run = Hindered(group, group.request())
    group.go(StepName.CLAIM, run.request)
    _at_the_fence(run)
    _at_the_drain(run)
    _at_the_end_of_the_flow(run)
    _at_the_hand_over(run)
    _behind_it(run)
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", run=run.request.run, confirmed=True), clients)
    return run


def _at_the_fence(run: Hindered) -> None:
    """A transaction that the operator may not see."""
    group, stray = run.group, f"stray-{run.group.name}"
    hide = Acl(
        ResourceType.TRANSACTIONAL_ID,
        stray,
        PatternType.LITERAL,
        "User:dr-operator",
        AclOperation.DESCRIBE,
        AclPermission.DENY,
    )
    with group.protection.clients() as clients:
        # What is written now is not copied yet when the drain begins.
        replicator = clients.replicator(group.flow)
        replicator.stop()
        replicator.wait_stopped(30)
    group.produce(10)
    with _open_transaction(group, "east", stray):
        with run.acl("east", hide, present=True), run.soon_given_up():
            run.refused("a hidden transaction at the fence", StepName.FENCE_SOURCE)
        run.done(StepName.FENCE_SOURCE)


def _at_the_drain(run: Hindered) -> None:
    """A flow that does not run, and a probe that is not the principal that is denied."""
    with run.soon_given_up():
        run.refused("a flow that is stopped", StepName.DRAIN)
    with run.group.protection.clients() as clients:
        clients.replicator(run.group.flow).resume()
    with run.changed(probe_principal=_CAROL), mock.patch("kafka_dr.runs.group_context.PROOF_SECONDS", 0.3):
        run.refused("a freeze without effect", StepName.DRAIN)
        strangers = plan.probe_freeze(run.group.protection.group)
    with run.group.protection.cluster("east", "admin") as admin:
        admin.acls.remove(strangers)
    run.done(StepName.DRAIN)


def _at_the_end_of_the_flow(run: Hindered) -> None:
    """A transaction on the target, by a principal that no fence stops."""
    with _open_transaction(run.group, "west", f"another-{run.group.name}") as abort:
        with run.soon_given_up():
            run.refused("a transaction on the target", StepName.STOP_FLOW)
        abort()
    run.done(StepName.STOP_FLOW, StepName.CUT_OVER_GROUPS)


def _at_the_hand_over(run: Hindered) -> None:
    """A fence that was lifted, a log that was written to, a DENY that another party added."""
    (probe,) = plan.probe_fence(run.group.protection.group)
    with run.acl("east", probe, present=False):
        run.refused("a source that takes writes", StepName.OPEN_TARGET)
    with _open_transaction(run.group, "west", f"another-{run.group.name}") as abort:
        abort()
    run.refused("a target that moved", StepName.OPEN_TARGET)
    run.done(StepName.STOP_FLOW)
    (flow, *_) = plan.flow_fence(run.group.protection.group)
    with run.acl("west", flow, present=False):
        run.refused("a replicator that may write", StepName.OPEN_TARGET)
    principals = (*run.group.protection.group.principals, _CAROL)
    with run.changed(principals=principals):
        foreign = next(a for a in plan.write_fence(run.group.protection.group) if a.principal == _CAROL)
        with run.acl("west", foreign, present=True):
            run.refused("a DENY that others added", StepName.OPEN_TARGET)
    run.done(StepName.OPEN_TARGET)


def _behind_it(run: Hindered) -> None:
    """A route of a later epoch, a route not flipped, an old cluster that accepts writes, a group that was put back."""
    protection = run.group.protection
    route = route_file(protection.group)
    before = route.read_text()
    route.write_text(json.dumps({**json.loads(before), "epoch": 99}))
    run.refused("a route that is ahead", StepName.FLIP_ROUTE)
    route.write_text(before)
    run.refused("a route that names the old cluster", StepName.VERIFY)
    run.done(StepName.FLIP_ROUTE)
    slow = f"{run.group.name}-slow"
    placed = run.group.committed("west", slow)
    with protection.cluster("west", "admin") as admin:
        admin.groups.set_offsets({slow: dict.fromkeys(placed, 0)})
        (probe,) = plan.probe_fence(protection.group)
        with run.acl("east", probe, present=False):
            run.refused("an old cluster that accepts writes", StepName.VERIFY)
        run.said["a group that was put back"] = run.said["an old cluster that accepts writes"]
        admin.groups.set_offsets({slow: placed})


@pytest.mark.parametrize(
    ("reason", "outcome", "sentence"),
    [
        (
            "a hidden transaction at the fence",
            "failed",
            r"transactions still hold back the last stable offset of .*payments-0 \(LSO \d+, high",
        ),
        ("a flow that is stopped", "failed", r"east → west did not copy all records of east within .* s: .*payments"),
        (
            "a freeze without effect",
            "failed",
            r"the groups could not be frozen on east: READ is not refused on east for",
        ),
        (
            "a transaction on the target",
            "failed",
            r"transactions still hold back the last stable offset of .*payments-0 .*on west: end them",
        ),
        ("a source that takes writes", "refused", r"source_refuses: .* leaders on east did not answer refused"),
        ("a target that moved", "refused", r"target_is_still: .*payments-0 have moved on west since the flow was"),
        ("a replicator that may write", "refused", r"replicator_refused: .* on west did not answer refused"),
        (
            "a DENY that others added",
            "failed",
            r"west holds DENYs that this project did not add and does not lift: .*carol",
        ),
        (
            "a route that is ahead",
            "refused",
            r"route_is_not_ahead: the route of .* names east \(epoch 99\); this run has",
        ),
        (
            "a route that names the old cluster",
            "failed",
            r"the route of .* names east, expected west: clear the task switch",
        ),
        (
            "an old cluster that accepts writes",
            "failed",
            r"old_cluster_refuses: .* leaders on east did not answer refused",
        ),
        ("a group that was put back", "failed", r"offsets_hold: .*-slow .*payments-0 "),
    ],
)
def test_a_step_names_the_reason_why_it_refuses(hindered: Hindered, reason: str, outcome: str, sentence: str) -> None:
    record = hindered.said[reason]

    assert re.search(sentence, record.detail), record.detail
    assert record.outcome == outcome


def test_a_run_that_was_refused_at_every_step_is_finished_in_the_end(hindered: Hindered) -> None:
    group = hindered.group
    with group.protection.cluster("east", "admin") as admin:
        assert not [acl for acl in admin.acls.list() if acl.principal == _CAROL]
    group.assert_at_rest("west")


def test_a_target_whose_register_says_something_else_is_not_opened(hindered: Hindered) -> None:
    """The last test with this group: its registers contradict each other from now on."""
    group = hindered.group
    source, target = group.active, group.standby
    request = group.go(StepName.CUT_OVER_GROUPS)
    real, others = KafkaRegister.compare_and_set, ["somebody-else"]

    def while_somebody_else_writes(register: KafkaRegister, before: RegisterState, after: RegisterState) -> None:
        real(register, before, after)
        # The step's own writes are seen here as well: first it takes the run.
        if others and after.phase is Phase.HANDED_OVER:
            alien = replace(after, epoch=after.epoch + 1000, run=others.pop())
            with group.protection.clients() as other:
                other.register(target).copy(alien)

    with (
        group.protection.clients() as clients,
        mock.patch.object(KafkaRegister, "compare_and_set", while_somebody_else_writes),
    ):
        record = failed(StepName.OPEN_TARGET, request, clients)

    assert record.outcome == "unknown"
    assert f"the register of {target} holds epoch" in record.detail
    assert "of run somebody-else, expected epoch" in record.detail
    assert group.protection.refuses_writes(target)
    assert group.protection.refuses_writes(source)


def test_a_copy_that_is_not_equal_is_not_handed_over(protection: Protection) -> None:
    """With a group of its own: the foreign records stay in the copy."""
    group = SwitchedGroup.adopt(protection, records=0)
    request = group.go(StepName.CLAIM)
    with protection.clients() as clients:
        replicator = clients.replicator(group.flow)
        replicator.stop()
        replicator.wait_stopped(30)
        protection.produce("east", 4)
        protection.produce("west", 4, principal="admin")
        replicator.resume()
        run_step(StepName.FENCE_SOURCE, request, clients)
        record = failed(StepName.DRAIN, request, clients)

    assert record.outcome == "failed"
    assert "the copy on west is not equal to east, so nothing is handed over" in record.detail
    assert protection.refuses_writes("west")
    group.roll_back(request)
    assert protection.takes_writes("east")
