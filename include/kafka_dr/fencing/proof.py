"""Prove that a cluster refuses or accepts what it should. The brokers are asked; sent requests prove nothing.

After a change of ACLs a broker may still decide by the old ones for a few milliseconds. So each question is asked again
until the answer is the expected one, or the deadline has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, AclOperation, KafkaCluster, TopicPartition, WriteAnswer, WriteVerdict
from kafka_dr.counted import counted
from kafka_dr.errors import TryAgain, Unanswered
from kafka_dr.fencing.closure import lacking
from kafka_dr.outcomes import Check, Outcome
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

T = TypeVar("T")

READ_BACK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Expected:
    """What leaders should answer.

    :param name: of the check
    :param good: each of these answers proves it
    :param bad: each of these answers proves the opposite; any other answer proves nothing
    """

    name: str
    word: str
    good: frozenset[WriteVerdict]
    bad: frozenset[WriteVerdict]


_REFUSED = _Expected("writes_refused", "refused", frozenset({"refused"}), frozenset({"allowed", "unable"}))
_ALLOWED = _Expected("writes_allowed", "allowed", frozenset({"allowed"}), frozenset({"refused"}))
#: The authorizer allows it, whether or not there are enough in-sync replicas.
_AUTHORIZED = _Expected("writes_authorized", "allowed", frozenset({"allowed", "unable"}), frozenset({"refused"}))


def writes_refused(
    cluster: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    clock: Clock,
    deadline_seconds: float,
    seen_by: KafkaCluster | None = None,
    led: Mapping[TopicPartition, int] | None = None,
) -> Check:
    """Prove that the leader of every partition refuses a write by the principal of ``cluster``.

    :param seen_by: the same cluster as a principal that looks up leaders and limits; ``None``: the same principal
    :param led: the leaders as they were looked up right before; ``None``: they are looked up
    """
    return _writes(
        cluster, seen_by or cluster, partitions, led, _REFUSED, clock=clock, deadline_seconds=deadline_seconds
    )


def writes_allowed(
    cluster: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    clock: Clock,
    deadline_seconds: float,
    seen_by: KafkaCluster | None = None,
    led: Mapping[TopicPartition, int] | None = None,
) -> Check:
    """Prove that the leader of every partition would accept a write by the principal of ``cluster``.

    :param seen_by: the same cluster as a principal that looks up leaders and limits; ``None``: the same principal
    :param led: the leaders as they were looked up right before; ``None``: they are looked up
    """
    return _writes(
        cluster, seen_by or cluster, partitions, led, _ALLOWED, clock=clock, deadline_seconds=deadline_seconds
    )


def writes_authorized(
    cluster: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    clock: Clock,
    deadline_seconds: float,
    seen_by: KafkaCluster | None = None,
    led: Mapping[TopicPartition, int] | None = None,
) -> Check:
    """Prove that the authorizer allows the principal of ``cluster`` to write to every partition.

    The same as :func:`writes_allowed`, except that leaders which accept no writes at the moment also pass.

    :param seen_by: the same cluster as a principal that looks up leaders and limits; ``None``: the same principal
    :param led: the leaders as they were looked up right before; ``None``: they are looked up
    """
    return _writes(
        cluster, seen_by or cluster, partitions, led, _AUTHORIZED, clock=clock, deadline_seconds=deadline_seconds
    )


def reads_refused(cluster: KafkaCluster, groups: Collection[str], *, clock: Clock, deadline_seconds: float) -> Check:
    """Prove that the coordinator of every group refuses READ to the principal of ``cluster``."""
    return _reads(cluster, groups, expected=False, clock=clock, deadline_seconds=deadline_seconds)


def reads_allowed(cluster: KafkaCluster, groups: Collection[str], *, clock: Clock, deadline_seconds: float) -> Check:
    """Prove that the coordinator of every group allows READ to the principal of ``cluster``."""
    return _reads(cluster, groups, expected=True, clock=clock, deadline_seconds=deadline_seconds)


def acls_present(
    cluster: str,
    wanted: Collection[Acl],
    read: Callable[[], frozenset[Acl]],
    *,
    clock: Clock,
    deadline_seconds: float = READ_BACK_SECONDS,
) -> Check:
    """Prove that DENYs are on the cluster, or such as cover them, by reading them back.

    :param read: reads the ACLs of the cluster
    :param deadline_seconds: how long to ask again: brokers learn of a change one after the other, and the broker that
        is asked may not know of it yet
    """
    missing = _until(lambda: lacking(wanted, read()), lambda left: not left, clock, deadline_seconds)
    name = "denies_read_back"
    if missing:
        shown = "; ".join(str(acl) for acl in sorted(missing)[:5])
        return Check(name, "failed", f"{len(missing)} of {len(wanted)} DENYs are missing on {cluster}: {shown}")
    return Check(name, "ok", f"all {len(wanted)} DENYs are on {cluster}")


def _writes(
    cluster: KafkaCluster,
    seen_by: KafkaCluster,
    partitions: Collection[TopicPartition],
    led: Mapping[TopicPartition, int] | None,
    expected: _Expected,
    *,
    clock: Clock,
    deadline_seconds: float,
) -> Check:
    name = expected.name
    if not partitions:
        return Check(name, "unknown", f"no partition leader could be asked: the group has no topics on {cluster.name}")

    def ask() -> tuple[WriteAnswer, ...]:
        nonlocal led
        known, led = led, None  # before the next question they are looked up
        return cluster.write_permission.ask(partitions, seen_by=seen_by.topics, led=known)

    try:
        answers = _until(ask, lambda found: all(a.verdict in expected.good for a in found), clock, deadline_seconds)
    except Unanswered as error:
        return Check(name, "unknown", f"not all partition leaders on {cluster.name} could be asked: {error}")
    others = [answer for answer in answers if answer.verdict not in expected.good]
    facts = {"asked": len(answers), "answers": sorted({answer.detail for answer in answers})}
    if not others:
        detail = f"{counted(len(answers), 'partition leader')} on {cluster.name}: every write {expected.word}"
        return Check(name, "ok", detail, facts)
    shown = ", ".join(f"{answer.partition} ({answer.detail})" for answer in others[:5])
    outcome: Outcome = "failed" if any(answer.verdict in expected.bad for answer in others) else "unknown"
    detail = (
        f"{len(others)} of {len(answers)} partition leaders on {cluster.name} did not answer {expected.word}: {shown}"
    )
    return Check(name, outcome, detail, facts)


def _reads(
    cluster: KafkaCluster, groups: Collection[str], *, expected: bool, clock: Clock, deadline_seconds: float
) -> Check:
    def others() -> dict[str, bool]:
        """Return the groups that do not answer as expected, and whether each answered at all."""
        operations = {group: state.authorized_operations for group, state in cluster.groups.states(groups).items()}
        return {
            group: bool(allowed)
            for group, allowed in sorted(operations.items())
            if not allowed or (AclOperation.READ in allowed) is not expected
        }

    word = "allowed" if expected else "refused"
    name = f"reads_{word}"
    try:
        wrong = _until(others, lambda found: not found, clock, deadline_seconds)
    except Unanswered as error:
        return Check(name, "unknown", f"not all group coordinators on {cluster.name} could be asked: {error}")
    if not wrong:
        return Check(name, "ok", f"{counted(len(groups), 'group coordinator')} on {cluster.name}: every READ {word}")
    outcome: Outcome = "failed" if any(wrong.values()) else "unknown"
    shown = ", ".join(
        group if answered else f"{group} (its coordinator did not answer that)" for group, answered in wrong.items()
    )
    return Check(name, outcome, f"READ is not {word} on {cluster.name} for {shown}", {"groups": list(wrong)})


def _until(ask: Callable[[], T], good: Callable[[T], bool], clock: Clock, deadline_seconds: float) -> T:
    # A coordinator may be moving to another broker, for example, so it is asked again after TryAgain.
    return wait_until(
        ask, good, clock=clock, seconds=deadline_seconds, pause_seconds=SHORT_PAUSE_SECONDS, retry=TryAgain
    )
