"""What the register says of a group, as far as kept results know it: one answer for every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.durations import age_of
from kafka_dr.verb_words import verb_words
from kafka_dr.watch_results import RunEnding, RunningStep, WatchStatus, is_record

#: What the other cluster is in each phase; else it is the standby.
_OTHER_CLUSTER: Mapping[str, str] = {
    "handed_over": "old cluster",
    "unfenced": "old cluster, not fenced",
    "diverged": "old cluster, diverged",
    "adopting": "not a standby yet",
    "releasing": "being released",
    "released": "released",
}


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """The record of a group.

    :param active: the cluster that it is active on; empty if no kept result says it
    :param other: what the other cluster is: standby, or what the phase makes of it
    :param run: the run that wrote it
    :param known: whether it is what the register says now
    :param said: all of it in words; first that it is unknown now, if it is
    :param changed: the run that has changed it since, or changes it now, and when; ``None`` if none does
    """

    active: str
    standby: str
    other: str
    run: str
    known: bool
    said: str
    changed: tuple[str, datetime] | None = None


def group_record(
    health: WatchStatus,
    endings: Sequence[RunEnding] | Exception,
    now: datetime,
    running: Iterable[RunningStep] = (),
) -> GroupRecord:
    """Return what was read last of a group's record, with its age if that may not be so any more.

    :param endings: how its last runs ended, the newest first, or the error if that cannot be read
    :param now: the time for which health was judged, UTC
    :param running: what runs of the group execute
    """
    found, changed = health.result, None
    record = newest_record(health, endings)
    try:
        said, seen_at = _sentence(record), datetime.fromisoformat(record["seen_at"])
    except (KeyError, TypeError, ValueError):
        why = found.sentences[:1] if found and not health.reason else ()
        said = "; ".join(("UNKNOWN: no kept result says which cluster is active", *why))
        return GroupRecord("", "", "standby", "", known=False, said=said)
    by_run = _written_by(record, endings)
    known = by_run is not None or (not health.reason and found is not None and found.has_record)
    if not known:
        said = f"UNKNOWN now. {age_of(now - seen_at).capitalize()}: {said}"
    elif step := _begun_since(seen_at, running):
        known, changed = False, (step.run, now)
        said = f"Run {step.run} changes it now, and dr_health looks again within a minute. Before that: {said}"
    elif by_run is not None:
        changed = (by_run.run, by_run.ended_at)
    elif ended := _ended_since(seen_at, endings):
        known, changed = False, (ended.run, ended.ended_at)
        ended_at = f"{ended.ended_at.astimezone(UTC):%H:%M:%S} UTC"
        said = f"A run has changed it at {ended_at}, and dr_health looks again within a minute. Before that: {said}"
    other = _OTHER_CLUSTER.get(str(record["phase"]), "standby")
    return GroupRecord(str(record["active"]), str(record["standby"]), other, str(record["run"]), known, said, changed)


def newest_record(health: WatchStatus, endings: Sequence[RunEnding] | Exception) -> Mapping[str, Any]:
    """Return what was read last of a group's record: by health, or at the end of a run; empty if nothing was."""
    looked = health.result.last_record if health.result else {}
    found = [] if isinstance(endings, Exception) else [each.record for each in endings if is_record(each.record)]
    return max((looked, *found), key=lambda each: str(each.get("seen_at") or ""))


def _written_by(record: Mapping[str, Any], endings: Sequence[RunEnding] | Exception) -> RunEnding | None:
    """Return the run at whose end a record was read, if health has not read it since."""
    listed = () if isinstance(endings, Exception) else endings
    return next((each for each in listed if record and each.record is record), None)


def _begun_since(seen_at: datetime, running: Iterable[RunningStep]) -> RunningStep | None:
    """Return a step that has begun or ended since, of a run that may hold the group."""
    holding = (each for each in running if each.holds and not each.dry_run)
    return next((each for each in holding if max(each.began_at, each.ended_at or each.began_at) > seen_at), None)


def _ended_since(seen_at: datetime, endings: Sequence[RunEnding] | Exception) -> RunEnding | None:
    """Return the newest run that took the group and has ended since; one that never claimed it has changed nothing."""
    if isinstance(endings, Exception):
        return None
    return next((each for each in endings if "claim" in each.steps and each.ended_at > seen_at), None)


def _sentence(record: Mapping[str, Any]) -> str:
    since = datetime.fromisoformat(record["recorded_at"]).astimezone(UTC)
    by = f", approved by {record['approved_by']}" if record["approved_by"] else ""
    verb = verb_words(str(record["verb"]))
    moving = "A run holds the group. " if record["held"] else ""
    phase = str(record["phase"])
    other = _OTHER_CLUSTER.get(phase, "standby")
    return (
        f"{moving}Active on {record['active']}, {other} {record['standby']}: {phase.replace('_', ' ')} since "
        f"{since:%Y-%m-%d %H:%M} UTC ({verb}{by}), epoch {record['epoch']}."
    )
