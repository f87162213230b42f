"""Start a flow, exactly where it was seeded, and only once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_dr.clusters import TopicPartition
from kafka_dr.fencing import plan
from kafka_dr.register.flow_seed import FlowSeed
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.fenced_topics import topics_to_copy
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.run import Run


def seed_of(
    run: Run,
    flow: Flow,
    *,
    epoch: int,
    on_source: Mapping[TopicPartition, int],
    on_target: Mapping[TopicPartition, int],
) -> FlowSeed:
    """Return the seed of a flow, which is journaled before the flow starts.

    :param on_source: next to read on the flow's source
    :param on_target: log ends of the flow's target
    """
    return FlowSeed(epoch, flow.source, flow.target, on_source, on_target, run.topic_ids(flow.source))


def begin(
    run: Run, flow: Flow, seed: Callable[[], Mapping[TopicPartition, int]], *, epoch: int, guard: RegisterGuard
) -> None:
    """Let the replicator write to the flow's target, seed the flow, and start it.

    :param seed: returns where it begins, next to read; asked where it was not seeded for this epoch yet
    :param guard: asked right before each change
    """
    seconds = run.group.timing.step_deadline_seconds
    run.look_for_topics(flow.target)
    run.acl_changes(flow.target, guard).lift(plan.fence_of_flow(run.group, flow.source, flow.target))
    replicator = run.clients.replicator(flow, group=topics_to_copy(run, flow, run.record()).group)
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
