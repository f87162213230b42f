"""What kept results say of a group at one moment. Each question is answered once, and every page shows that answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.evidence.ending import NOT_BACK
from kafka_dr.evidence.group_record import GroupRecord, group_record
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.watch_row import OUTCOME_WORDS
from kafka_dr.quoting import unescaped
from kafka_dr.readiness import GroupReadiness, readiness_now
from kafka_dr.watch_results import RunEnding, RunningStep, WatchedGroup, WatchStatus
from kafka_dr.watch_results.running_steps import DEAD_AFTER

#: The facts of health that come before everything else.
_HALF_MOVED, _HALF_MOVED_RUN = "half_moved", "half_moved_run"


@dataclass(frozen=True, slots=True)
class GroupNow:
    """A group at one moment.

    :param verdict: what all watches together say, in one line
    :param record: what the register said when it was last read
    :param ready: whether each verb could be used on it
    :param half_moved: why no program continues a run of it, and what to do first; empty if none has to
    :param half_moved_by: that run
    """

    verdict: str
    colour: StatusColour
    record: GroupRecord
    ready: GroupReadiness
    half_moved: str = ""
    half_moved_by: str = ""


def group_now(
    status: WatchedGroup,
    endings: Sequence[RunEnding] | Exception,
    running: Iterable[RunningStep],
    now: datetime,
) -> GroupNow:
    """Return what is known of a group.

    :param endings: how its last runs ended, the newest first, or the error if that cannot be read
    :param running: what runs execute; those of other groups are ignored
    :param now: the time for which the group was judged, UTC
    """
    mine, health = [each for each in running if each.group == status.group], status.of("health")
    word, colour = OUTCOME_WORDS[status.outcome]
    said = "every watch is good" if status.outcome == "ok" else ", ".join(status.named(status.outcome))
    verdict = f"{word}: {said}"
    run, half_moved = _half_moved(health, endings, mine, now)
    if half_moved:
        verdict, colour = f"HALF MOVED. {verdict}", "bad"
    record = group_record(health, endings, now, mine)
    return GroupNow(verdict, colour, record, readiness_now(status, changed=record.changed), half_moved, run)


def is_not_back(ending: RunEnding) -> bool:
    """Return whether a run could not be rolled back."""
    return ending.note.startswith(NOT_BACK)


def _half_moved(
    health: WatchStatus, endings: Sequence[RunEnding] | Exception, running: Iterable[RunningStep], now: datetime
) -> tuple[str, str]:
    """Return by which run a group is half moved, and why; both are empty if health has looked since and says no.

    Until health looks again, a run says it that could not be rolled back, or whose process shows no sign of life.
    """
    found, last = health.result, None if isinstance(endings, Exception) else next(iter(endings), None)
    # A look that found nothing out keeps what the one before it said.
    known = found.facts.get(_HALF_MOVED) if found is not None else None
    if found is not None and isinstance(known, str) and known:
        return str(found.facts.get(_HALF_MOVED_RUN) or found.last_record.get("run") or ""), known
    looked_at = found.looked_at if found is not None and "phase" in found.facts else None
    for step in running:
        unseen = step.seen_at + DEAD_AFTER
        if step.is_half_moved(now) and not (looked_at and looked_at > unseen):
            return step.run, f"run {step.run} may hold the group, and no process continues it. {step.sentence(now)}"
    if last is None or not is_not_back(last) or (looked_at and looked_at > last.ended_at):
        return "", ""
    return last.run, unescaped(last.note)
