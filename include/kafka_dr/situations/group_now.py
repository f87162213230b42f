"""What kept results say of a group at one moment. Each question is answered once, and every page shows that answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from kafka_dr.quoting import unescaped
from kafka_dr.readiness.judge import ASKED, GroupReadiness, readiness_now
from kafka_dr.readiness.model import Answer
from kafka_dr.situations.group_facts import DrillState, Finding, GroupFacts
from kafka_dr.situations.group_record import GroupRecord, group_record, newest_record
from kafka_dr.situations.judgement import Judgement, judge
from kafka_dr.situations.situation import SituationColour
from kafka_dr.watch_results import (
    OpenRun,
    RunEnding,
    RunningStep,
    WatchedGroup,
    WatchStatus,
    believed_for,
    is_over,
    judged_by,
)
from kafka_dr.watch_results.kept import ROLES
from kafka_dr.watch_results.running_steps import DEAD_AFTER

#: The facts of health that come before everything else.
_HALF_MOVED, _HALF_MOVED_RUN = "half_moved", "half_moved_run"
#: Checks of health that a person has to decide about before anything else can start.
_MISTAKES = ("registers", "cluster_id", "register_records")
#: The verb of what drills execute.
DRILL = "drill"
#: So many earlier runs show how long a step usually takes.
_EARLIER = 5


@dataclass(frozen=True, slots=True)
class GroupNow:
    """A group at one moment.

    :param facts: what it is judged from
    :param judgement: what is the matter with it, and the one step that helps
    :param record: what the register said when it was last read
    :param ready: whether each verb could be used on it
    :param watched: what its watches say
    :param half_moved: why no program continues a run of it, and what to do first; empty if none has to
    :param half_moved_by: that run
    """

    facts: GroupFacts
    judgement: Judgement
    record: GroupRecord
    ready: GroupReadiness
    watched: WatchedGroup
    half_moved: str = ""
    half_moved_by: str = ""

    @property
    def verdict(self) -> str:
        """The state and what is the matter, in one line."""
        return self.judgement.said

    @property
    def colour(self) -> SituationColour:
        """The colour of the state."""
        return self.judgement.colour


def group_now(
    status: WatchedGroup,
    endings: Sequence[RunEnding] | Exception,
    running: Iterable[RunningStep],
    now: datetime,
    asked: Iterable[OpenRun] = (),
) -> GroupNow:
    """Return what is known of a group.

    :param endings: how its last runs ended, the newest first, or the error if that cannot be read
    :param running: what runs execute; those of other groups are ignored
    :param now: the time for which the group was judged, UTC
    :param asked: the runs that are open; those of other groups are ignored
    """
    listed = () if isinstance(endings, Exception) else tuple(endings)
    mine = [each for each in running if each.group == status.group and not is_over(each.run, each.began_at, listed)]
    health = status.of("health")
    last = newest_record(health, endings)
    if last and health.result is not None:
        status = judged_by(status, health.result.flow_by(last))
    record = group_record(health, endings, now, mine)
    ended = record.changed[1] if record.changed and record.changed[1] < now else None
    is_free = record.known and ended is not None and last["held"] is False
    run, half_moved = ("", "") if is_free else _half_moved(health, listed, mine, now)
    ready = readiness_now(status, changed=record.changed)
    waiting = next(
        (
            each
            for each in asked
            if each.group == status.group and each.is_waiting(now) and not is_over(each.run, each.asked_at, listed)
        ),
        None,
    )
    drills = [each for each in mine if each.verb == DRILL]
    moving = next((each for each in mine if each not in drills and each.continues(now)), None)
    ended_by: dict[str, Any] = {"run": record.changed[0]} if record.changed else {}
    if ended:
        ended_by["held"] = record.known and not is_free
    seen = GroupFacts(
        status.group,
        now,
        **(_recorded(health, last) | ended_by | _of_run(run, mine, listed)),
        adopted=health.outcome != "left_alone" or not _is_new(health),
        late=health.result.looked_at if health.result and health.result.is_old(now) else None,
        half_moved=half_moved,
        moving=moving,
        usual=_usual(moving, listed),
        ended=ended,
        waiting=waiting,
        **_refused(listed, _time(_record(health).get("recorded_at"))),
        **_of_health(health),
        canary_lost=_facts(status.of("canary")).get("verdict") == "lost",
        drill=_drill(status.of(ASKED), drills, now),
        findings=tuple(_finding(each, _time(last.get("recorded_at")), now) for each in status.watches),
        answers=ready.answers,
        why_not={each.verb: each.open[0].detail for each in ready.verbs if each.open},
        movable=_answered(ready, health, "ready", "ready_with"),
        immovable=_answered(ready, health, "not_ready"),
    )
    return GroupNow(seen, judge(seen), record, ready, status, half_moved, run)


def _usual(step: RunningStep | None, listed: Iterable[RunEnding]) -> float | None:
    """Return how long a step took in the last good runs of its verb, in seconds; ``None`` if none has it."""
    if step is None or step.ended_at is not None:
        return None
    took = [
        each.steps[step.step]
        for each in listed
        if each.good and each.dag_id == f"dr_{step.verb}" and step.step in each.steps
    ]
    return median(took[:_EARLIER]) if took else None


def _refused(listed: Iterable[RunEnding], since: datetime | None) -> dict[str, Any]:
    """Return why the last failback since the record was refused; nothing if it was not."""
    last = next((each for each in listed if each.dag_id == "dr_failback"), None)
    if last is None or (since is not None and last.ended_at < since):
        return {}
    return {"refused": last.refused, "needs_rebuild": bool(last.refused) and last.needs_rebuild}


def _record(health: WatchStatus) -> Mapping[str, Any]:
    return health.result.last_record if health.result else {}


def _facts(status: WatchStatus) -> Mapping[str, Any]:
    """Return what a watch measured; nothing if that is too old."""
    return status.result.facts if status.result and not status.reason else {}


def _of_run(run: str, running: Iterable[RunningStep], listed: Iterable[RunEnding]) -> dict[str, Any]:
    """Return which run holds the group half moved, and its verb if that is known; nothing without such a run."""
    if not run:
        return {}
    verbs = (
        *(each.verb for each in running if each.run == run),
        *(each.dag_id.removeprefix("dr_") for each in listed if each.run == run),
    )
    return {"run": run, **({"verb": verbs[0]} if verbs else {})}


def _recorded(health: WatchStatus, last: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was read last of the register's record; texts of the wrong kind count as unknown."""
    found = {**(health.result.facts if health.result else {}), **last}
    roles = found.get(ROLES)
    texts = {name: str(found.get(name) or "") for name in ("phase", "active", "standby", "verb")}
    return {
        **texts,
        "run": str(found.get("run") or ""),
        "roles": {str(each): str(role) for each, role in roles.items()} if isinstance(roles, Mapping) else {},
        "held": found.get("held") is True,
        "since": _time(found.get("recorded_at")),
    }


def _is_new(health: WatchStatus) -> bool:
    """Return whether health has looked and no register has a record of the group."""
    return health.result is not None and not health.reason and not _record(health) and "phase" not in _facts(health)


def _of_health(health: WatchStatus) -> dict[str, Any]:
    facts = _facts(health)
    opened = facts.get("open_checks")
    opened = opened if isinstance(opened, Mapping) else {}
    is_red = health.outcome == "failed" and health.result is not None
    said = health.result.sentences[0] if health.result and health.result.sentences else ""
    unfenced = facts.get("fence_missing") if is_red else ()
    return {
        "mistake": said if any(opened.get(name) == "failed" for name in _MISTAKES) else "",
        "silent": _clusters(facts, "silent"),
        "unheard": _clusters(facts, "unheard"),
        "answering": _clusters(facts, "answering"),
        "down": str(facts.get("active_down") or ""),
        "unfenced": tuple(map(str, unfenced)) if isinstance(unfenced, list) else (),
    }


def _clusters(facts: Mapping[str, Any], listed: str) -> dict[str, datetime | None]:
    """Return the clusters that a fact lists, and since when; none if it is damaged."""
    found, since = facts.get(listed), facts.get(f"{listed}_since")
    since = since if isinstance(since, Mapping) else {}
    return {str(name): _time(since.get(name)) for name in found} if isinstance(found, list) else {}


def drills_kept(readiness: WatchStatus, steps: Iterable[RunningStep]) -> Any:
    """Return what is kept of the group's drills: by readiness, and of one that has ended since by its last step.

    :param steps: what runs execute, or executed last
    :returns: JSON of any shape; ``None`` if the topology declares no drills of the group
    """
    kept = readiness.result.facts.get("drill", {}) if readiness.result else {}
    ended = max((each for each in steps if each.result), key=lambda each: each.run, default=None)
    if ended is None or not isinstance(kept, Mapping):
        return kept
    last = kept.get("last")
    if isinstance(last, Mapping) and (str(last.get("id") or ""), last.get("passed") is not None) >= (ended.run, True):
        return kept
    overdue = kept.get("overdue") is True and ended.result.get("passed") is not True
    return {"every_days": None, **kept, "last": ended.result, "overdue": overdue}


def _answered(ready: GroupReadiness, health: WatchStatus, *answers: Answer) -> tuple[str, ...]:
    """Return the standbys of several about which a planned failover has one of these answers."""
    roles = _record(health).get(ROLES)
    planned = ready.of("planned_failover")
    names = roles if isinstance(roles, Mapping) else ()
    return tuple(str(each) for each in names if planned.of_standby(str(each)).answer in answers)


def _drill(readiness: WatchStatus, steps: Iterable[RunningStep], now: datetime) -> DrillState:
    """Return what is known of the group's drills.

    :param steps: what they execute, or executed last
    """
    shown = list(steps)
    if any(each.ended_at is None and not each.is_silent(now) for each in shown):
        return "running"
    kept = drills_kept(readiness, shown) if not readiness.reason else None
    last = kept.get("last") if isinstance(kept, Mapping) else None
    unended = last if isinstance(last, Mapping) and last.get("passed", False) is None else None
    if any(each.is_silent(now) for each in shown) or (unended is not None and unended.get("died") is True):
        return "died"
    if unended is not None:
        return "running"
    return "overdue" if isinstance(kept, Mapping) and kept.get("overdue") is True else ""


def _finding(status: WatchStatus, recorded_at: datetime | None, now: datetime) -> Finding:
    found, name = status.result, status.watch.name
    several = found.of_standbys if found is not None and not status.reason else ()
    alike = tuple(each.standby for each in several if each.outcome == status.outcome) if len(several) > 1 else ()
    said = ": ".join(filter(None, (status.reason, *(found.sentences[:1] if found else ()))))
    if found is None:
        # Whoever adopts a group, or reads a damaged file, knows no earlier time.
        due = recorded_at and recorded_at + believed_for(status.watch.idle or status.watch.every)
        return Finding(name, status.outcome, said, recorded_at, due if status.never and due and due > now else None)
    if found.is_old(now):
        return Finding(name, status.outcome, said, found.looked_at)
    due = None
    if status.before_move:
        changed = recorded_at or found.looked_at
        due = changed + found.good_for
        return Finding(name, status.outcome, said, changed, due if due > now else None)
    if status.outcome == "left_alone":
        due = found.begun + found.good_for
    return Finding(name, status.outcome, said, found.begun, due if due and due > now else None, alike)


def _time(stored: object) -> datetime | None:
    """Return a stored time; ``None`` if it is missing, of another kind, or without a time zone."""
    try:
        found = datetime.fromisoformat(stored) if isinstance(stored, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _half_moved(
    health: WatchStatus, endings: Sequence[RunEnding], running: Iterable[RunningStep], now: datetime
) -> tuple[str, str]:
    """Return by which run a group is half moved, and why; both are empty if health has looked since and says no.

    Until health looks again, a run says it that could not be rolled back, or whose process shows no sign of life.
    """
    found, last = health.result, next(iter(endings), None)
    # A look that found nothing out keeps what the one before it said.
    known = found.facts.get(_HALF_MOVED) if found is not None else None
    if found is not None and isinstance(known, str) and known:
        return str(found.facts.get(_HALF_MOVED_RUN) or found.last_record.get("run") or ""), known
    read_at = found.read_at if found is not None and "phase" in found.facts else None
    for step in running:
        unseen = step.seen_at + DEAD_AFTER
        if step.is_half_moved(now) and not (read_at and read_at > unseen):
            return step.run, f"run {step.run} may hold the group, and no process continues it. {step.sentence(now)}"
    if last is None or not last.is_not_back or (read_at and read_at > last.ended_at):
        return "", ""
    return last.run, unescaped(last.note)
