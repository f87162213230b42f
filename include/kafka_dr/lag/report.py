"""The report of a lag audit: what was measured and how, as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.lag.assessment import Assessment, FlowLag, GroupLag, Latency, ReaderLag
from kafka_dr.lag.findings import LagFinding, LagLimits
from kafka_dr.lag.verdict import LagVerdict

SCHEMA_VERSION = 1
#: How many groups a sentence names.
_NAMED = 3
_MEANS = {
    LagVerdict.REWIND: "it reads again what it had read",
    LagVerdict.STOP: "the group has no members, or the flow does not run",
    LagVerdict.STALL: "it has not moved for three looks",
    LagVerdict.WARN: "it reads more slowly than records come",
}
_LATE = frozenset(_MEANS)


@dataclass(frozen=True, slots=True)
class UnjudgedGroup:
    """A group of the source whose lag cannot be judged: no committed offset says where it is. It is never OK.

    :param kind: for people
    :param said: what shows the kind, or why it cannot be judged
    :param todo: what its owners have to do
    :param no_reader: whether it is known to read nothing as a group, so that there is no lag to judge
    """

    group: str
    kind: str
    said: str
    todo: str
    no_reader: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What was audited, when, and how much was read.

    :param flow: as ``group.source-to-target``
    :param epoch: of the flow's seed; ``None`` if it has none
    :param flow_state: what the flow does
    :param at: when the ends of the logs were read, aware
    :param seconds: how long the audit took
    :param records_read: records that were read from the source
    :param latency_from: how the time of arrival is known, or why it is not
    :param not_looked_at: a sentence for each thing that was not looked at; while there is one, nothing is ok
    :param cautions: a sentence for each thing that is not known of what was looked at
    :param unjudged: the groups whose lag cannot be judged
    """

    flow: str
    epoch: int | None
    flow_state: str
    at: datetime
    seconds: float
    records_read: int
    latency_from: str
    not_looked_at: Sequence[str] = ()
    cautions: Sequence[str] = ()
    unjudged: Sequence[UnjudgedGroup] = ()

    @property
    def unknown_groups(self) -> tuple[UnjudgedGroup, ...]:
        """The groups that may read, and nobody knows how far they are."""
        return tuple(each for each in self.unjudged if not each.no_reader)


def verdict(subject: Subject, assessment: Assessment, findings: Sequence[LagFinding]) -> str:
    """Return the verdict on everything that the report shows.

    A group that does not keep up, or cannot be judged, is no finding, but a report that shows one is not ok.
    """
    if findings:
        return "findings"
    if subject.not_looked_at:
        return "unknown"
    seen = {group.verdict for group in assessment.groups}
    if seen & _LATE:
        return "groups late"
    if subject.unknown_groups:
        return "groups unknown"
    return "groups not judged yet" if LagVerdict.NOT_ENOUGH_DATA in seen else "ok"


def sentence(subject: Subject, assessment: Assessment, findings: Sequence[LagFinding]) -> str:
    """Return the verdict in words: of the flow the first finding, or its lag; then the groups, and what is not known.

    The lag of groups blocks no failover, and is still reported.
    """
    unknown = [f"{each[0].upper()}{each[1:]}." for each in subject.cautions]
    if left_out := subject.not_looked_at:
        more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
        unknown.append(f"Not looked at: {left_out[0]}{more}.")
    return " ".join((_of_flow(assessment, findings), *_of_groups(assessment), *_of_unjudged(subject), *unknown))


def _of_unjudged(subject: Subject) -> Iterator[str]:
    if found := subject.unknown_groups:
        shown = ", ".join(f"{each.group} ({each.kind})" for each in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield f"How far these groups are is not known: {shown}{more}."


def _of_groups(assessment: Assessment) -> Iterator[str]:
    late = late_groups(assessment)
    if late:
        shown = "; ".join(_in_words(group) for group in late[:_NAMED])
        more = f"; and {len(late) - _NAMED} more" if len(late) > _NAMED else ""
        yield f"{len(late)} of {len(assessment.groups)} consumer groups do not keep up: {shown}{more}."
    young = sum(group.verdict is LagVerdict.NOT_ENOUGH_DATA for group in assessment.groups)
    if young:
        yield f"{young} of {len(assessment.groups)} consumer groups cannot be judged yet: too few looks."


def late_groups(assessment: Assessment) -> list[GroupLag]:
    """Return the groups that do not keep up, worst first."""
    order = list(LagVerdict)
    found = [group for group in assessment.groups if group.verdict in _LATE]
    return sorted(found, key=lambda group: (order.index(group.verdict), group.group))


def _in_words(group: GroupLag) -> str:
    sums = _sums(group.partitions)
    age = "of unknown age" if sums["seconds"] is None else f"the oldest for {duration(sums['seconds'])}"
    return f"{group.group} {group.verdict} ({_MEANS[group.verdict]}): {_about(sums)} records wait, {age}"


def _about(sums: Mapping[str, Any]) -> str:
    """Return a number of records, marked if it was estimated."""
    return f"{'' if sums['exact'] else 'about '}{sums['records']:,}"


def _of_flow(assessment: Assessment, findings: Sequence[LagFinding]) -> str:
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        return f"{findings[0].sentence}{more}."
    lags = [each.lag for each in assessment.flow]
    if not lags:
        return "The flow has no partitions."
    records = sum(lag.unread.records for lag in lags)
    oldest = max((lag.seconds or 0.0 for lag in lags), default=0.0)
    latency = assessment.latency
    arrived = (
        f", 99 of 100 arrived within {duration(latency.p99)}" if latency else ", how long records take is not known"
    )
    if not records:
        return f"Nothing waits to be copied in {counted(len(lags), 'partition')}{arrived}."
    about = _about({"records": records, "exact": all(lag.unread.exact for lag in lags)})
    return f"{about} records wait to be copied, the oldest for {duration(oldest)}{arrived}."


def behind_seconds(assessment: Assessment) -> float | None:
    """Return how old the oldest record is that was not copied, at least; ``None`` if that of no partition is known."""
    ages = [each.lag.seconds for each in assessment.flow]
    known = [age for age in ages if age is not None]
    return max(known) if known else None if ages else 0.0


def report(
    subject: Subject, assessment: Assessment, findings: Sequence[LagFinding], limits: LagLimits
) -> dict[str, Any]:
    """Return everything as JSON values."""
    lags = [each.lag for each in assessment.flow]
    return {
        "schema_version": SCHEMA_VERSION,
        "audit": "lag",
        "flow": subject.flow,
        "epoch": subject.epoch,
        "verdict": verdict(subject, assessment, findings),
        "sentence": sentence(subject, assessment, findings),
        "at": subject.at.astimezone(UTC).isoformat(),
        "seconds": round(subject.seconds, 1),
        "records_read": subject.records_read,
        "limits_seconds": asdict(limits),
        "findings": [{**asdict(finding), "kind": str(finding.kind)} for finding in findings],
        **({"not_looked_at": list(subject.not_looked_at)} if subject.not_looked_at else {}),
        "groups_late": [{"group": each.group, "sentence": _in_words(each)} for each in late_groups(assessment)],
        "groups_unknown": [_unjudged(each) for each in subject.unjudged],
        "replication": {
            "state": subject.flow_state,
            "verdict": str(assessment.verdict),
            **_sums(lags),
            "latency": _latency(assessment.latency),
            "latency_from": subject.latency_from,
            "partitions": [_flow(each) for each in assessment.flow],
        },
        "groups": [_group(group) for group in assessment.groups],
    }


def _sums(lags: Sequence[ReaderLag]) -> dict[str, Any]:
    ages = [lag.seconds for lag in lags]
    return {
        "records": sum(lag.unread.records for lag in lags),
        "bytes": sum(lag.unread.size for lag in lags),
        "seconds": None if None in ages else max((age for age in ages if age is not None), default=0.0),
        "exact": all(lag.unread.exact for lag in lags),
    }


def _latency(latency: Latency | None) -> dict[str, Any] | None:
    if latency is None:
        return None
    shares = {f"{name}_seconds": getattr(latency, name) for name in ("p50", "p95", "p99", "max")}
    return {"samples": latency.samples, **shares}


def _reader(lag: ReaderLag) -> dict[str, Any]:
    return {
        "topic": lag.topic,
        "partition": lag.partition,
        "position": lag.position,
        "records": lag.unread.records,
        "bytes": lag.unread.size,
        "seconds": lag.seconds,
        "exact": lag.unread.exact,
        "deleted": lag.deleted,
        "past_end": lag.past_end,
        "verdict": str(lag.verdict),
    }


def _flow(flow: FlowLag) -> dict[str, Any]:
    return {
        **_reader(flow.lag),
        "headroom_seconds": flow.headroom_seconds,
        "held_back_offsets": flow.held_back,
        "latency": _latency(flow.latency),
    }


def _unjudged(group: UnjudgedGroup) -> dict[str, Any]:
    word = "no reader" if group.no_reader else "unknown"
    return {"group": group.group, "kind": group.kind, "verdict": word, "shown_by": group.said, "to_do": group.todo}


def _group(group: GroupLag) -> dict[str, Any]:
    return {
        "group": group.group,
        "kind": group.kind,
        "state": group.state,
        "verdict": str(group.verdict),
        **_sums(group.partitions),
        "ahead_of_copy_seconds": group.ahead_seconds,
        "partitions": [_reader(lag) for lag in group.partitions],
    }
