"""A consumer already reads on the standby: a live member would overwrite the offsets that are set."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def test_a_member_that_joins_in_the_middle_of_a_run_ends_it_before_the_target_is_opened(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.go(StepName.STOP_FLOW)

    with _member(group, target), group.protection.clients() as clients:
        record = failed(StepName.CUT_OVER_GROUPS, request, clients)

    assert record.outcome == "refused"
    assert f"groups have live members on {target} ({group.name}-head: early-bird" in record.detail
    assert "expected none, as their offsets cannot be set: stop these consumers" in record.detail
    assert group.protection.refuses_writes(target)
    group.roll_back(request)
    group.assert_at_rest(source)


def test_members_that_leave_in_time_are_waited_for_where_the_policy_says_so(group: SwitchedGroup) -> None:
    declared = group.protection.group
    group.protection.changes = {
        "groups_policy": declared.groups_policy.model_copy(update={"live_members": "wait"}),
        "timing": declared.timing.model_copy(update={"drain_seconds": 20.0}),
    }
    try:
        with _member(group, group.standby) as member, group.protection.clients() as clients:
            leaving = threading.Timer(1.0, member.close)
            leaving.start()
            record = run_step(StepName.PREFLIGHT, group.request(), clients)
            leaving.join()
    finally:
        group.protection.changes = {}

    assert record.outcome == "done"


@contextmanager
def _member(group: SwitchedGroup, cluster: str) -> Iterator[Consumer]:
    """Let a principal that no freeze stops consume as one of the groups."""
    settings = group.protection.lab.client_settings(cluster, "admin")
    member = Consumer({**settings, "group.id": f"{group.name}-head", "client.id": "early-bird"})
    member.subscribe([group.protection.topic])
    deadline = time.monotonic() + 30
    while not member.assignment():
        assert time.monotonic() < deadline, "the member was given no partition"
        member.poll(0.1)
    try:
        yield member
    finally:
        member.close()
