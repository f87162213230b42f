"""A line for each of several standbys: what it is, how far its copy is, and whether it could take over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kafka_dr.durations import age_of, moment
from kafka_dr.evidence.flow_picture import COLOURS, canary_in_words, lag_in_words
from kafka_dr.evidence.readiness_view import answer_in_words
from kafka_dr.evidence.status_colour import WORST_COLOUR_FIRST, StatusColour
from kafka_dr.readiness.model import Answer, ReadyVerb
from kafka_dr.situations.group_now import GroupNow
from kafka_dr.watch_results import StandbyFinding, WatchName

_BEST_FIRST: tuple[Answer, ...] = ("ready", "ready_with", "unknown", "not_ready", "not_needed")
_LOOKED_AT: tuple[WatchName, ...] = ("flows", "lag", "canary", "checksum")
_COPY = "copy"
_COMPARED: Mapping[str, str] = {"ok": "equal", "warning": "equal, with remarks", "failed": "NOT EQUAL"}


@dataclass(frozen=True, slots=True)
class StandbyLine:
    """One standby of several, in words; what is not known now is *UNKNOWN*.

    :param role: what the record says of it
    :param compared: how long ago its copy was compared with the original, and what was found
    :param complete: up to when it has all that the original had
    :param move: whether a planned failover to it could begin now
    :param why: the first thing that speaks against one
    :param flow: the colour of its flow, lag and canary
    :param colour: the worst of all
    """

    name: str
    role: str
    lag: str
    canary: str
    compared: str
    complete: str
    move: str
    why: str
    flow: StatusColour
    move_colour: StatusColour
    colour: StatusColour

    @property
    def said(self) -> str:
        """All of it in one line, without colours."""
        why = f": {self.why}" if self.why and self.move_colour in ("bad", "unknown") else ""
        return f"{self.name} ({self.role}): {self.lag}, {self.canary}, {self.compared}. Move now? {self.move}{why}"


def targets_of(known: GroupNow, now: datetime, verb: ReadyVerb) -> tuple[tuple[str, str], ...]:
    """Return the standbys of several that hold the copy, with what is known of each; the best first.

    :param now: the time from which ages are counted, UTC
    :param verb: the failover that would go there
    """
    copies = {each.name: each for each in reversed(standby_lines(known, now)) if each.role == _COPY}
    answers = {name: known.ready.of(verb).of_standby(name).answer for name in copies}
    return tuple(
        (name, f"{name}: {line.lag}, {line.compared}; possible now? {answer_in_words(answers[name])[0]}")
        for name, line in sorted(copies.items(), key=lambda each: _BEST_FIRST.index(answers[each[0]]))
    )


def standby_lines(known: GroupNow, now: datetime) -> tuple[StandbyLine, ...]:
    """Return the standbys of a group that has several, the worst first; none of a pair.

    :param now: the time from which ages are counted, UTC
    """
    found = [_line(known, name, role, now) for name, role in known.facts.roles.items()]
    return tuple(sorted(found, key=lambda each: (WORST_COLOUR_FIRST.index(each.colour), each.name)))


def _line(known: GroupNow, name: str, role: str, now: datetime) -> StandbyLine:
    found = {watch: _newest(known, watch, name, now) for watch in _LOOKED_AT}
    flow = _worst(*(_colour(found[watch]) for watch in ("flows", "lag", "canary")))
    planned = known.ready.of("planned_failover").of_standby(name)
    move, move_colour = answer_in_words(planned.answer)
    stops = move_colour if move_colour in ("bad", "unknown") else "good"
    is_copy: StatusColour = "good" if role == _COPY else "warn"
    lag, canary, checksum = found["lag"], found["canary"], found["checksum"]
    return StandbyLine(
        name,
        role,
        lag_in_words(lag.facts if lag else {}),
        canary_in_words(canary.facts if canary else {}),
        _compared(checksum, now),
        _complete(checksum, now),
        move,
        next((each.detail.removeprefix(f"to {name}: ") for each in planned.open), ""),
        flow,
        move_colour,
        _worst(flow, _colour(checksum), stops, is_copy),
    )


def _newest(known: GroupNow, watch: WatchName, standby: str, now: datetime) -> StandbyFinding | None:
    """Return what a watch found of a standby; ``None`` if that is too old, or from before the group moved.

    Audits look at one standby in each run, so what they say is believed for as many times as there are standbys.
    """
    status, health = known.watched.of(watch), known.watched.of("health").result
    if status.result is None or status.reason:
        return None
    begun = health.flow_now.begun if health else None
    for each in status.result.of_standbys:
        if each.standby == standby and (begun is None or each.at >= begun - timedelta(seconds=1)):
            return each if now - each.at <= status.result.good_for * len(known.facts.roles) else None
    return None


def _compared(found: StandbyFinding | None, now: datetime) -> str:
    if found is None:
        return "not compared lately"
    said = _COMPARED.get(found.outcome)
    return f"compared {age_of(now - found.at)}: {said}" if said else f"comparison UNKNOWN {age_of(now - found.at)}"


def _complete(found: StandbyFinding | None, now: datetime) -> str:
    try:
        at = datetime.fromisoformat(str(found.facts["complete_up_to"])) if found else None
    except (KeyError, ValueError):
        at = None
    return "not known to be complete" if at is None else f"complete up to {moment(at, now)}"


def _colour(found: StandbyFinding | None) -> StatusColour:
    return COLOURS[found.outcome] if found else "unknown"


def _worst(*colours: StatusColour) -> StatusColour:
    return min(colours, key=WORST_COLOUR_FIRST.index)
