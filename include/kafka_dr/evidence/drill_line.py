"""The last drill of a group in one line of its card: its result, its recovery time, its age, and if one is overdue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.evidence.ages import age_of
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.watch_results import WatchStatus

_ENDED: dict[bool | None, tuple[str, StatusColour]] = {
    True: ("PASSED", "good"),
    False: ("DID NOT PASS", "bad"),
    None: ("NOT ENDED", "unknown"),
}


@dataclass(frozen=True, slots=True)
class DrillLine:
    """The last drill of a group.

    :param word: how it ended, for people, never a colour alone
    """

    word: str
    colour: StatusColour
    said: str


def drill_line(readiness: WatchStatus, now: datetime) -> DrillLine:
    """Return the line from what the last look of readiness kept. What it did not keep is unknown.

    :param now: the time from which ages are counted, UTC
    """
    if readiness.result is None:
        return DrillLine("UNKNOWN", "unknown", f"the last drill is not known: {readiness.reason}")
    facts = readiness.result.facts
    kept = facts.get("drill", {})
    if kept is None:
        return DrillLine("NONE", "unknown", "the topology declares no drills of this group")
    try:
        line = _line(kept, now)
    except (KeyError, TypeError, ValueError, AttributeError):
        return DrillLine("UNKNOWN", "unknown", "the last drill is not known: dr_readiness has kept nothing of drills")
    if readiness.reason:
        seen = age_of(now - readiness.result.looked_at)
        return DrillLine("UNKNOWN", "unknown", f"as it was known {seen}: {line.word}, {line.said}")
    return line


def _line(kept: Mapping[str, Any], now: datetime) -> DrillLine:
    late = kept["overdue"] is True
    wanted = f"; overdue: one has to pass every {kept['every_days']} days" if late else ""
    if unreadable := kept.get("unreadable"):
        return DrillLine("UNKNOWN", "unknown", f"the results of drills cannot be read: {unreadable}{wanted}")
    last = kept["last"]
    if last is None:
        return DrillLine("OVERDUE" if late else "NONE YET", "warn", f"this group was never drilled{wanted}")
    word, colour = _ENDED[last["passed"]]
    ended = datetime.fromisoformat(last["ended_at"]).astimezone(UTC)
    why = f": {last['why']}" if last["why"] else ""
    said = f"{last['kind']} drill {last['id']}{why}, {_recovery(last)}, {age_of(now - ended)}{wanted}"
    if late and colour == "good":
        return DrillLine("OVERDUE", "warn", f"{word.lower()}: {said}")
    return DrillLine(word, colour, said)


def _recovery(last: Mapping[str, Any]) -> str:
    seconds, objective = last["rto_seconds"], last["rto_objective"]
    limit = f" (objective {objective:g} s)" if objective is not None else ""
    return f"RTO {seconds:.1f} s{limit}" if seconds is not None else f"RTO not known{limit}"
