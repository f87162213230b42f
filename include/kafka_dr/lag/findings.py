"""The findings of a lag audit: what exceeds a limit of the topology, and whether a failover has to wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.lag.assessment import Assessment, FlowLag, GroupLag
from kafka_dr.lag.verdict import LagVerdict


class LagFindingKind(StrEnum):
    """What can be wrong with a flow. The lag of groups is reported without a finding: their owners judge it."""

    DELETED = "deleted"  # the source deleted what was not copied: it is lost
    PAST_END = "past_end"  # the flow is past the end of the source's log
    NOT_MOVING = "not_moving"  # Burrow's verdict on the flow is REWIND, STOP or STALL
    LATE = "late"  # the oldest record that is not copied is too old
    RETENTION = "retention"  # the source will soon delete what is not copied
    LATENCY = "latency"  # records take too long to arrive on the target
    POSITION_NOT_COPIED = "position_not_copied"  # a group has read records that are not copied for too long


@dataclass(frozen=True, slots=True)
class LagFinding:
    """Something beyond a limit.

    :param where: a partition, a group, or empty for the whole flow
    :param value: what was measured, in records for ``deleted`` and ``past_end``, else in seconds
    :param limit: what is allowed; ``None`` if there is no limit
    :param blocks_failover: whether a planned failover has to wait until it is gone
    """

    kind: LagFindingKind
    where: str
    value: float | None
    limit: float | None
    blocks_failover: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class LagLimits:
    """What the topology allows, in seconds.

    :param record_age: how old a record may be before it has to be on the target
    :param failover_lag: the same, above which no failover begins
    :param replication_latency: how long 99 of 100 records may take
    :param checkpoint_latency: how long the records that a group has read may not be copied
    :param retention_headroom: how long before the source deletes records it is a finding
    """

    record_age: float
    failover_lag: float
    replication_latency: float
    checkpoint_latency: float
    retention_headroom: float


#: What to look at first when a flow does not move.
_FIRST, _OBSERVED_FIRST = "see dr_flows", "look at the replicator, which somebody else runs"
_BROKEN = (LagVerdict.REWIND, LagVerdict.STOP, LagVerdict.STALL)


def find(assessment: Assessment, limits: LagLimits, *, observed: bool = False) -> tuple[LagFinding, ...]:
    """Return everything that exceeds its limit, what blocks a failover first.

    :param observed: whether somebody else runs the flow
    """
    first = _OBSERVED_FIRST if observed else _FIRST
    found = [finding for each in assessment.flow for finding in _of_partition(each, limits, first)]
    found += _of_latency(assessment, limits)
    found += [finding for group in assessment.groups for finding in _of_group(group, limits)]
    return tuple(
        sorted(found, key=lambda finding: (not finding.blocks_failover, list(LagFindingKind).index(finding.kind)))
    )


def _of_partition(flow: FlowLag, limits: LagLimits, first: str) -> Iterator[LagFinding]:
    lag = flow.lag
    if lag.past_end:
        sentence = (
            f"{lag.name}: the flow is at {lag.position}, past the end of the source's log: the log was cut, or the "
            "topic created again; find out what happened to the topic before the flow copies more"
        )
        yield LagFinding(LagFindingKind.PAST_END, lag.name, lag.position, None, blocks_failover=True, sentence=sentence)
    if lag.deleted:
        sentence = (
            f"{lag.name}: the source deleted {counted(lag.deleted, 'offset')} from {lag.position} on before "
            f"they were copied"
        )
        yield LagFinding(LagFindingKind.DELETED, lag.name, lag.deleted, 0, blocks_failover=True, sentence=sentence)
    if lag.verdict in _BROKEN:
        sentence = f"{lag.name}: {lag.verdict} with {counted(lag.unread.records, 'record')} not copied: {first}"
        yield LagFinding(
            LagFindingKind.NOT_MOVING, lag.name, lag.seconds, None, blocks_failover=True, sentence=sentence
        )
    yield from _of_age(flow, limits)
    if flow.headroom_seconds is not None and flow.headroom_seconds < flow.headroom_limit:
        sentence = (
            f"{lag.name}: the source may delete what is not copied in {duration(flow.headroom_seconds)}, less than "
            f"{duration(flow.headroom_limit)}: raise retention.ms or retention.bytes there until the flow has caught up"
        )
        seconds, limit = flow.headroom_seconds, flow.headroom_limit
        yield LagFinding(LagFindingKind.RETENTION, lag.name, seconds, limit, blocks_failover=False, sentence=sentence)


def _of_age(flow: FlowLag, limits: LagLimits) -> Iterator[LagFinding]:
    lag = flow.lag
    if lag.unread.records == 0 or (lag.seconds is not None and lag.seconds <= limits.record_age):
        return
    blocks = lag.seconds is None or lag.seconds > limits.failover_lag
    aged = "of unknown age" if lag.seconds is None else f"the oldest for {duration(lag.seconds)}"
    sentence = (
        f"{lag.name}: {counted(lag.unread.records, 'record is', 'records are')} not copied, {aged}; "
        f"{duration(limits.record_age)} are allowed"
    )
    yield LagFinding(LagFindingKind.LATE, lag.name, lag.seconds, limits.record_age, blocks, sentence)


def _of_latency(assessment: Assessment, limits: LagLimits) -> Iterator[LagFinding]:
    latency = assessment.latency
    if latency is not None and latency.p99 > limits.replication_latency:
        sentence = (
            f"99 of 100 records took up to {duration(latency.p99)} to arrive on the target (of {latency.samples} "
            f"measured); {duration(limits.replication_latency)} are allowed"
        )
        seconds, limit = latency.p99, limits.replication_latency
        yield LagFinding(LagFindingKind.LATENCY, "", seconds, limit, blocks_failover=False, sentence=sentence)


def _of_group(group: GroupLag, limits: LagLimits) -> Iterator[LagFinding]:
    if group.ahead_seconds is None or group.ahead_seconds > limits.checkpoint_latency:
        aged = "an unknown time" if group.ahead_seconds is None else f"{duration(group.ahead_seconds)}"
        sentence = (
            f"group {group.group} has read records that were not copied for {aged}, so its offset has no translation "
            f"yet; {duration(limits.checkpoint_latency)} are allowed"
        )
        seconds, limit = group.ahead_seconds, limits.checkpoint_latency
        kind = LagFindingKind.POSITION_NOT_COPIED
        yield LagFinding(kind, group.group, seconds, limit, blocks_failover=False, sentence=sentence)
