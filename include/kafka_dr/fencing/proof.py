"""Proof that a cluster refuses, or takes, what it should: asked of the brokers, never concluded from what was sent.

Right after ACLs are changed a broker may for some milliseconds still decide by the old ones, so each question is
put again until the answer is the expected one or the deadline has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, AclOperation, KafkaCluster, TopicPartition, WriteAnswer, WriteVerdict
from kafka_dr.errors import TryAgain

T = TypeVar("T")

Outcome = Literal["ok", "failed", "unknown"]

_PAUSE_SECONDS = 0.03
READ_BACK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Expected:
    """What leaders are to answer.

    :param good: each of these proves it
    :param bad: each of these proves the opposite; any other proves nothing
    """

    word: str
    good: frozenset[WriteVerdict]
    bad: frozenset[WriteVerdict]


_REFUSES = _Expected("refused", frozenset({"refused"}), frozenset({"allowed", "unable"}))
_TAKES = _Expected("allowed", frozenset({"allowed"}), frozenset({"refused"}))
#: No authorizer is in the way, whether or not enough replicas are in sync.
_PASSES = _Expected("allowed", frozenset({"allowed", "unable"}), frozenset({"refused"}))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a proof found.

    :param facts: JSON-ready details
    """

    outcome: Outcome
    detail: str
    facts: Mapping[str, object] = field(default_factory=dict)


def writes_refused(
    cluster: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    clock: Clock,
    deadline_seconds: float,
    seen_by: KafkaCluster | None = None,
) -> Finding:
    """Prove that the leader of every partition refuses a write by the principal that ``cluster`` is reached as.

    :param seen_by: the same cluster as somebody who looks up leaders and limits; that principal itself where ``None``
    """
    return _asked(cluster, seen_by or cluster, partitions, _REFUSES, clock=clock, deadline_seconds=deadline_seconds)


def writes_allowed(
    cluster: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    clock: Clock,
    deadline_seconds: float,
    seen_by: KafkaCluster | None = None,
) -> Finding:
    """Prove that the leader of every partition would take a write by the principal that ``cluster`` is reached as.

    :param seen_by: the same cluster as somebody who looks up leaders and limits; that principal itself where ``None``
    """
    return _asked(cluster, seen_by or cluster, partitions, _TAKES, clock=clock, deadline_seconds=deadline_seconds)


def writes_authorized(
    cluster: KafkaCluster,
    partitions: Collection[TopicPartition],
    *,
    clock: Clock,
    deadline_seconds: float,
    seen_by: KafkaCluster | None = None,
) -> Finding:
    """Prove that no authorizer keeps the principal that ``cluster`` is reached as from writing to any partition.

    That is the same as :func:`writes_allowed` but for leaders that can take no write of anybody at the moment.

    :param seen_by: the same cluster as somebody who looks up leaders and limits; that principal itself where ``None``
    """
    return _asked(cluster, seen_by or cluster, partitions, _PASSES, clock=clock, deadline_seconds=deadline_seconds)


def reads_refused(cluster: KafkaCluster, groups: Collection[str], *, clock: Clock, deadline_seconds: float) -> Finding:
    """Prove that the coordinator of every group gives no READ to the principal that ``cluster`` is reached as."""
    return _reads(cluster, groups, expected=False, clock=clock, deadline_seconds=deadline_seconds)


def reads_allowed(cluster: KafkaCluster, groups: Collection[str], *, clock: Clock, deadline_seconds: float) -> Finding:
    """Prove that the coordinator of every group gives READ to the principal that ``cluster`` is reached as."""
    return _reads(cluster, groups, expected=True, clock=clock, deadline_seconds=deadline_seconds)


def acls_present(
    cluster: KafkaCluster, wanted: Collection[Acl], *, clock: Clock, deadline_seconds: float = READ_BACK_SECONDS
) -> Finding:
    """Prove by reading back that ACLs stand on the cluster.

    :param deadline_seconds: how long it is asked again: each broker learns by itself what another one has answered,
        and whichever is asked may be a moment behind
    """
    missing = _until(lambda: frozenset(wanted) - cluster.acls.list(), lambda left: not left, clock, deadline_seconds)
    if missing:
        shown = "; ".join(str(acl) for acl in sorted(missing)[:5])
        return Finding("failed", f"{len(missing)} of {len(wanted)} DENYs are missing on {cluster.name}: {shown}")
    return Finding("ok", f"all {len(wanted)} DENYs stand on {cluster.name}")


def _asked(
    cluster: KafkaCluster,
    seen_by: KafkaCluster,
    partitions: Collection[TopicPartition],
    expected: _Expected,
    *,
    clock: Clock,
    deadline_seconds: float,
) -> Finding:
    if not partitions:
        return Finding("unknown", f"no partition on {cluster.name} could be asked: the group has no topics there")

    def ask() -> tuple[WriteAnswer, ...]:
        return cluster.asking.writes(partitions, seen_by=seen_by.topics)

    try:
        answers = _until(ask, lambda found: all(a.verdict in expected.good for a in found), clock, deadline_seconds)
    except TryAgain as error:
        return Finding("unknown", f"not all partition leaders could be asked: {error}")
    others = [answer for answer in answers if answer.verdict not in expected.good]
    facts = {"asked": len(answers), "answers": sorted({answer.detail for answer in answers})}
    if not others:
        return Finding("ok", f"{len(answers)} partition leaders on {cluster.name}: every write {expected.word}", facts)
    shown = ", ".join(f"{answer.partition} ({answer.detail})" for answer in others[:5])
    outcome: Outcome = "failed" if any(answer.verdict in expected.bad for answer in others) else "unknown"
    sentence = (
        f"{len(others)} of {len(answers)} partition leaders on {cluster.name} did not answer {expected.word}: {shown}"
    )
    return Finding(outcome, sentence, facts)


def _reads(
    cluster: KafkaCluster, groups: Collection[str], *, expected: bool, clock: Clock, deadline_seconds: float
) -> Finding:
    def others() -> dict[str, bool]:
        """Return the groups that do not answer as expected, and of each whether it told anything at all."""
        told = {group: state.authorized_operations for group, state in cluster.groups.states(groups).items()}
        return {
            g: bool(may) for g, may in sorted(told.items()) if not may or (AclOperation.READ in may) is not expected
        }

    try:
        wrong = _until(others, lambda found: not found, clock, deadline_seconds)
    except TryAgain as error:
        return Finding("unknown", f"not all group coordinators could be asked: {error}")
    word = "allowed" if expected else "refused"
    if not wrong:
        return Finding("ok", f"{len(groups)} group coordinators on {cluster.name}: every READ {word}")
    outcome: Outcome = "failed" if any(wrong.values()) else "unknown"
    shown = ", ".join(group if told else f"{group} (its coordinator did not say)" for group, told in wrong.items())
    return Finding(outcome, f"READ is not {word} on {cluster.name} for {shown}", {"groups": list(wrong)})


def _until(ask: Callable[[], T], good: Callable[[T], bool], clock: Clock, deadline_seconds: float) -> T:
    deadline = clock.monotonic() + deadline_seconds
    while True:
        try:
            answer = ask()
        except TryAgain:
            # A coordinator that is just moving, for instance.
            if clock.monotonic() > deadline:
                raise
        else:
            if good(answer) or clock.monotonic() > deadline:
                return answer
        clock.sleep(_PAUSE_SECONDS)
