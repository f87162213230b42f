"""Applies a plan that a person has read: one partition after the other, so that brokers never copy more than one."""

from __future__ import annotations

from collections.abc import Callable

from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.positions import TopicPartition
from kafka_dr.stretch.plan import StretchPlan
from kafka_dr.waiting import wait_until

_PAUSE_SECONDS = 0.5
_NEXT = "When it has ended, read the next plan with --plan"


def apply_plan(
    plan: StretchPlan,
    approved: str,
    cluster: KafkaCluster,
    clock: Clock,
    *,
    seconds: float,
    moved: Callable[[TopicPartition], None],
) -> None:
    """Move the replicas of a plan, then let the preferred ones lead.

    A move that was begun is continued by Kafka whatever becomes of this process. What was not begun is in the next
    plan.

    :param approved: the digest that the person has read
    :param cluster: reached by a principal that may change the placement
    :param seconds: how long all of it may take
    :param moved: is called with each partition that has moved
    :raises Refused: the plan is another one by now; nothing was changed
    :raises TryAgain: the time is over
    """
    if plan.digest != approved:
        raise Refused(
            f"nothing was changed: {approved} is not the plan of now, which is {plan.digest}. Read it with --plan, and "
            "apply that one"
        )
    deadline = clock.monotonic() + seconds
    for number, (partition, replicas) in enumerate(plan.reassign.items()):
        before, left = cluster.placement.being_moved(), len(plan.reassign) - number
        if partition in before or clock.monotonic() >= deadline:
            why = f"somebody else moves {partition}" if partition in before else f"{duration(seconds)} are over"
            raise TryAgain(f"{why}, and {counted(left, 'partition was', 'partitions were')} not begun. {_NEXT}")
        cluster.replica_moves.begin(partition, replicas)
        moving = wait_until(
            cluster.placement.being_moved,
            lambda now, mine=partition: mine not in now,  # type: ignore[misc]
            clock=clock,
            seconds=deadline - clock.monotonic(),
            pause_seconds=_PAUSE_SECONDS,
        )
        if partition in moving:
            rest = counted(left - 1, "partition was", "partitions were")
            raise TryAgain(
                f"Kafka still moves {partition} after {duration(seconds)}, and continues; {rest} not begun. {_NEXT}"
            )
        moved(partition)
    cluster.replica_moves.prefer((*plan.reassign, *plan.elect))
