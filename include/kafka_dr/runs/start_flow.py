"""Start a flow, exactly where it was seeded, and only once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.fencing import plan
from kafka_dr.named_rows import ID_OF_A_TOPIC, rows_of
from kafka_dr.replication import Flow
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.run import Run


def seed_fact(
    run: Run, flow: Flow, *, epoch: int, source_positions: Sequence[Any], target_positions: Sequence[Any]
) -> dict[str, Any]:
    """Return the seed of a flow, which is journaled before the flow starts.

    The topic ids show later whether these offsets belong to the log that exists then.
    """
    return {
        "epoch": epoch,
        "source": flow.source,
        "target": flow.target,
        "source_positions": source_positions,
        "target_positions": target_positions,
        "topic_ids": rows_of(run.topic_ids(flow.source), **ID_OF_A_TOPIC),
    }


def begin(
    run: Run, flow: Flow, seed: Callable[[], Mapping[TopicPartition, int]], *, epoch: int, guard: RegisterGuard
) -> None:
    """Let the replicator write to the flow's target, seed the flow, and start it.

    :param seed: returns where it begins, next to read; asked where it was not seeded for this epoch yet
    :param guard: asked right before each change
    """
    seconds = run.group.timing.step_deadline_seconds
    run.acl_changes(flow.target, guard).lift(plan.flow_fence(run.group))
    replicator = run.clients.replicator(flow)
    if replicator.ensure(stopped=True) == "created":
        replicator.wait_stopped(seconds)
    # A flow that was seeded for this epoch may have copied since: seeding it again would copy that twice.
    if replicator.where().seed_epoch != epoch:
        guard.require()
        replicator.stop()
        replicator.wait_stopped(seconds)
        guard.require()
        replicator.seed(seed(), epoch=epoch)
    guard.require()
    replicator.resume()
