"""The state of a flow from Connect's status topic: what the newest records of its connector and tasks say."""

from __future__ import annotations

import json

import pytest

from kafka_dr.replication.replicator import FlowState, flow_status
from kafka_dr.replication.watched_flow import connector_status

NAME = "dr.orders.east-to-west"


def said(key: str, state: str, trace: str = "") -> dict[bytes, bytes]:
    return {key.encode(): json.dumps({"state": state, "trace": trace or None, "worker_id": "w:1"}).encode()}


def connector(state: str) -> dict[bytes, bytes]:
    return said(f"status-connector-{NAME}", state)


def task(number: int, state: str, trace: str = "") -> dict[bytes, bytes]:
    return said(f"status-task-{NAME}-{number}", state, trace)


@pytest.mark.parametrize(
    ("newest", "state"),
    [
        ({}, "absent"),
        (task(0, "RUNNING"), "absent"),
        (connector("RUNNING") | task(0, "RUNNING"), "running"),
        (connector("RUNNING"), "unassigned"),
        (connector("RUNNING") | task(0, "UNASSIGNED"), "unassigned"),
        (connector("RUNNING") | task(0, "RUNNING") | task(1, "RESTARTING"), "unassigned"),
        (connector("RUNNING") | task(0, "RUNNING") | task(1, "FAILED"), "failed"),
        (connector("FAILED"), "failed"),
        (connector("STOPPED"), "stopped"),
        (connector("STOPPED") | task(0, "RUNNING"), "unknown"),
        (connector("PAUSED") | task(0, "PAUSED"), "paused"),
        (connector("RESTARTING"), "unassigned"),
        (connector("A STATE OF A LATER CONNECT"), "unknown"),
        ({f"status-connector-{NAME}".encode(): b"no JSON"}, "unknown"),
        ({f"status-connector-{NAME}".encode(): b"[1]"}, "unknown"),
        (said("status-connector-dr.orders.east-to-west-2", "RUNNING"), "absent"),
        (connector("RUNNING") | said(f"status-task-{NAME}-2-0", "RUNNING"), "unassigned"),
        (connector("RUNNING") | said(f"status-topic-orders.payments:connector-{NAME}", ""), "unassigned"),
    ],
)
def test_what_connector_and_tasks_last_said_is_the_state(newest: dict[bytes, bytes], state: FlowState) -> None:
    assert flow_status(connector_status(NAME, newest)).state == state


def test_what_a_task_failed_with_is_shown_in_one_line() -> None:
    newest = connector("RUNNING") | task(10, "FAILED", "Denied\n\tat line 7") | task(9, "RUNNING")
    found = flow_status(connector_status(NAME, newest))
    assert (found.tasks, found.detail) == (2, "task 10: Denied")
