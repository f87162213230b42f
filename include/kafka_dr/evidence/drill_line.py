"""The last drill of a group in one line of its card: its result, its recovery time, its age, and if one is overdue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from kafka_dr.durations import age_of, duration
from kafka_dr.evidence.status_colour import CardLine, StatusColour
from kafka_dr.situations.group_now import drills_kept
from kafka_dr.watch_results import RunningStep, WatchStatus

_STOPPED = "no process executes it any more, and it may have left topics of its own"
_ENDED: dict[bool | None, tuple[str, StatusColour]] = {
    True: ("PASSED", "good"),
    False: ("DID NOT PASS", "bad"),
    None: ("NOT ENDED", "unknown"),
}


def drill_line(readiness: WatchStatus, now: datetime, steps: Iterable[RunningStep] = ()) -> CardLine:
    """Return the line from what the last look of readiness kept. What it did not keep is unknown.

    :param steps: what drills of the group execute, or executed last
    :param now: the time from which ages are counted, UTC
    """
    if readiness.result is None:
        return CardLine("UNKNOWN", "unknown", f"the last drill is not known: {readiness.reason}")
    shown = tuple(steps)
    kept = drills_kept(readiness, shown)
    if kept is None:
        return CardLine("NONE", "unknown", "the topology declares no drills of this group")
    try:
        line = _line(kept, now, {each.run: each for each in shown})
    except (KeyError, TypeError, ValueError, AttributeError):
        return CardLine("UNKNOWN", "unknown", "the last drill is not known: dr_readiness has kept nothing of drills")
    if readiness.reason:
        seen = readiness.result.looked_at
        since = f"{seen.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {age_of(now - seen)}"
        said = f"not known since {since}: whether one has ended or is overdue. It prevents no failover"
        return CardLine("UNKNOWN", "unknown", f"{said}. Before: {line.word}, {line.said}")
    return line


def _line(kept: Mapping[str, Any], now: datetime, steps: Mapping[str, RunningStep]) -> CardLine:
    late = kept["overdue"] is True
    wanted = f"; overdue: one has to pass every {kept['every_days']} days" if late else ""
    if unreadable := kept.get("unreadable"):
        return CardLine("UNKNOWN", "unknown", f"the results of drills cannot be read: {unreadable}{wanted}")
    last = kept["last"]
    if last is None:
        return CardLine("OVERDUE" if late else "NONE YET", "warn", f"this group was never drilled{wanted}")
    if last["passed"] is None:
        step = steps.get(last["id"])
        if step.is_silent(now) if step is not None else last.get("died") is True:
            return CardLine("STOPPED", "bad", f"{last['kind']} drill {last['id']}: {_STOPPED}{wanted}")
    word, colour = _ENDED[last["passed"]]
    ended = datetime.fromisoformat(last["ended_at"]).astimezone(UTC)
    why = f": {last['why']}" if last["why"] else ""
    said = f"{last['kind']} drill {last['id']}{why}, {_recovery(last)}, {age_of(now - ended)}{wanted}"
    if late and colour == "good":
        return CardLine("OVERDUE", "warn", f"{word.lower()}: {said}")
    return CardLine(word, colour, said)


def _recovery(last: Mapping[str, Any]) -> str:
    seconds, objective = last["rto_seconds"], last["rto_objective"]
    limit = f" (objective {duration(objective)})" if objective is not None else ""
    return f"RTO {seconds:.1f} s{limit}" if seconds is not None else f"RTO not known{limit}"
