"""The state of a flow from Connect's status topic: what the newest records of its connector and tasks say."""

from __future__ import annotations

import json

import pytest

from kafka_dr.replication.mirrormaker import flow_status
from kafka_dr.replication.replicator import FlowState
from kafka_dr.replication.watched_flow import connector_status
from support.sentences import assert_sentence

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


#: As Connect keeps it of a task whose copy the target's topic refused, with fewer frames.
REJECTED = """org.apache.kafka.connect.errors.ConnectException: Failed to flush offsets and/or records for task {task}
\tat org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask.lambda$commitTransaction$3(Worker.java:379)
\tSuppressed: java.lang.IllegalStateException: closed
\t\tat org.apache.kafka.common.network.Selector.close(Selector.java:1)
\tCaused by: java.io.IOException: of what was suppressed
Caused by: org.apache.kafka.common.KafkaException: Failing batch
since transaction was aborted
\tat org.apache.kafka.clients.producer.internals.Sender.run(Sender.java:1)
\t... 6 more
Caused by: org.apache.kafka.common.InvalidRecordException: Compacted topic cannot accept message without key
\t... 8 more
"""
CAUSE = "Compacted topic cannot accept message without key"


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ("Denied\n\tat line 7", "Denied"),
        (REJECTED.format(task="a"), f"{CAUSE} (Failed to flush offsets and/or records for task a)"),
        (REJECTED.format(task="a").replace("\n", "\r\n"), f"{CAUSE} (Failed to flush offsets and/or"),
        ("a.b.Outer\n\tat c\nCaused by: d.Inner$Kind: two\nlines\n\tat e", "two lines (outer)"),
    ],
)
def test_what_a_task_failed_with_is_shown_in_one_line_with_the_innermost_cause_first(trace: str, said: str) -> None:
    newest = connector("RUNNING") | task(10, "FAILED", trace) | task(9, "RUNNING")
    found = flow_status(connector_status(NAME, newest))
    assert found.tasks == 2
    assert str(found).startswith(f"failed: task 10: {said}")
    assert "\n" not in found.detail


def test_tasks_that_failed_with_the_same_cause_are_named_together_after_the_connector() -> None:
    newest = said(f"status-connector-{NAME}", "FAILED", "Refused\n\tat x")
    newest |= task(1, "FAILED", "Denied\n\tat y") | task(10, "FAILED", "Denied\n\tat z") | task(2, "FAILED", "Full")
    assert_sentence(flow_status(connector_status(NAME, newest)).detail)
