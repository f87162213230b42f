"""Whether the newest audit of a flow permits a failover. A missing, outdated or unrecognised audit never passes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.durations import duration

#: How far the clocks of two machines may differ before a time in the future is not accepted.
_CLOCKS_APART = timedelta(minutes=1)


class GateAnswer(StrEnum):
    """What the gate says. Only green and a warning permit a failover."""

    GREEN = "green"
    WARNING = "warning"  # there are findings, and none of them blocks a failover: never shown as green
    RED = "red"
    TOO_OLD = "too_old"
    NEVER = "never"  # the flow was never audited, or not since its seed
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The gate's answer, and why.

    :param sentence: what was seen and, unless the answer is green, what to do
    :param result: the audit's result; ``None`` if there is none
    """

    answer: GateAnswer
    sentence: str
    result: AuditResult | None = None


def ask(
    root: Any,
    kind: AuditKind,
    *,
    group: str,
    source: str,
    target: str,
    epoch: int,
    now: datetime,
    max_age: timedelta,
    unseeded: bool = False,
) -> GateVerdict:
    """Read the newest audit of a flow from the evidence root and judge it.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    :param epoch: of the flow's seed; an audit of another epoch is about another flow
    :param now: aware
    :param max_age: how old the audit may be
    :param unseeded: whether the flow was adopted at its own position, so that audits know of no seed
    """
    try:
        result = ResultStore(root).newest(kind, group=group, source=source, target=target)
    except (ResultUnreadable, OSError) as error:
        again = f"run dr_{kind}_audit again"
        return GateVerdict(GateAnswer.UNKNOWN, f"the newest {kind} audit cannot be read ({cause(error)}): {again}")
    if result is None:
        way = f"run dr_{kind}_audit, or its job by hand, and record-audit"
        sentence = f"no {kind} audit of {group} {source}→{target} has ever ended: {way}"
        return GateVerdict(GateAnswer.NEVER, sentence)
    return judge(result, epoch=epoch, now=now, max_age=max_age, unseeded=unseeded)


def judge(result: AuditResult, *, epoch: int, now: datetime, max_age: timedelta, unseeded: bool = False) -> GateVerdict:
    """Judge one result. A red result stays red however old it is."""
    age = now - result.at
    what = f"the {result.kind} audit of {result.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    again = f"run dr_{result.kind}_audit again"
    if result.epoch != epoch and not (unseeded and result.epoch is None):
        return _of_another(result, what, f"this flow began in epoch {epoch}: {again}", epoch)
    if age < -_CLOCKS_APART:
        ahead = f"{duration(-age)} in the future"
        return GateVerdict(GateAnswer.UNKNOWN, f"{what} is {ahead}: correct the clocks, then {again}", result)
    if result.verdict is AuditVerdict.RED:
        sentence = f"{what} is red: {result.sentence.rstrip('.')}; fix that, then {again}"
        return GateVerdict(GateAnswer.RED, sentence, result)
    if result.verdict is AuditVerdict.UNKNOWN:
        return GateVerdict(GateAnswer.UNKNOWN, f"{what} is unknown: {result.sentence}", result)
    if age > max_age:
        limit = f"{duration(age)} old, at most {duration(max_age)} are allowed"
        return GateVerdict(GateAnswer.TOO_OLD, f"{what} is {limit}: {again}", result)
    if result.verdict is AuditVerdict.WARNING:
        sentence = f"{what} has findings that block no failover: {result.sentence}"
        return GateVerdict(GateAnswer.WARNING, sentence, result)
    return GateVerdict(GateAnswer.GREEN, f"{what} is green: {result.sentence}", result)


def _of_another(result: AuditResult, what: str, this: str, epoch: int) -> GateVerdict:
    """Say that a result is about another epoch: if that was an earlier one, this flow was never audited."""
    if result.epoch is None:
        return GateVerdict(GateAnswer.UNKNOWN, f"{what} is of an unknown epoch, {this}", result)
    answer = GateAnswer.NEVER if result.epoch < epoch else GateAnswer.UNKNOWN
    return GateVerdict(answer, f"{what} is of epoch {result.epoch}, {this}", result)
