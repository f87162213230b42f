"""Readiness now: what was asked of the clusters last, together with what each watch says at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, get_args

from kafka_dr.codec import NotDecoded, decode
from kafka_dr.outcomes import CheckOutcome
from kafka_dr.readiness.model import Answer, ReadinessCheck, ReadinessUnreadable, ReadyVerb, VerbReadiness, worst_first
from kafka_dr.watch_results import CALM, WatchedGroup, WatchName, WatchOutcome, WatchStatus

#: The watch that asks, and whose result the judgement begins with.
ASKED: WatchName = "readiness"
#: Of these a red result stops a planned failover. Each has a check of the preflight that asks the same of the clusters;
#: the watch may know it earlier.
_STOPS_PLANNED: frozenset[WatchName] = frozenset({"health", "flows", "lag", "checksum"})

#: How long before the end of its look a watch may have read the register.
_LOOKING = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class GroupReadiness:
    """Whether each verb could be used on a group now.

    :param asked_at: when the clusters were asked last, UTC; ``None`` if they never were
    :param moving: a run holds the group, or has changed it since the clusters were asked
    :param outdated: the clusters can be asked again with another answer: a run has changed the group since and holds it
        no more, or they were asked while something was wrong that is not wrong any more
    """

    group: str
    verbs: tuple[VerbReadiness, ...]
    asked_at: datetime | None
    moving: bool = False
    outdated: bool = False

    def of(self, verb: ReadyVerb) -> VerbReadiness:
        """Return the readiness of one verb."""
        return next(each for each in self.verbs if each.verb == verb)

    @property
    def answers(self) -> dict[ReadyVerb, Answer]:
        """The answer of each verb."""
        return {each.verb: each.answer for each in self.verbs}


def readiness_now(watched: WatchedGroup, *, changed: tuple[str, datetime] | None = None) -> GroupReadiness:
    """Judge a group from its kept results.

    An old or damaged answer of the clusters makes every verb unknown, whatever it said, and so does one from before the
    register changed. A watch may only make an answer worse.

    :param changed: a run that has changed the group later than health knows, and when; ``None`` if none has
    """
    asked, held = watched.of(ASKED), _is_held(watched.of("health"))
    at = asked.result.looked_at if asked.result else None
    more = {verb: tuple(_of_watches(verb, watched.watches, at)) for verb in get_args(ReadyVerb)}
    if asked.reason or asked.result is None:
        return GroupReadiness(watched.group, _all_unknown(asked.reason), at, held)
    later = changed is not None and changed[1] > asked.result.looked_at
    if (
        said := _changed_by(changed[0])
        if changed and later
        else _changed_since(asked.result.looked_at, watched.of("health"))
    ):
        return GroupReadiness(watched.group, _all_unknown(said), at, moving=True, outdated=not held)
    try:
        verbs = verbs_in(asked.result.facts)
    except ReadinessUnreadable as error:
        said = asked.result.sentences[0] if asked.result.sentences else str(error)
        return GroupReadiness(watched.group, _all_unknown(said), at, held)
    recovered = asked.outcome not in CALM and _good_since(asked.result.looked_at, watched.of("health"))
    now = tuple(each.with_more(more[each.verb]) for each in verbs)
    return GroupReadiness(watched.group, now, at, held, outdated=recovered and not held)


def judged(
    found: Sequence[VerbReadiness], earlier: Mapping[str, Any] | None, now: datetime
) -> tuple[VerbReadiness, ...]:
    """Return what was found, with since when each check has its outcome.

    :param earlier: the facts that the look before kept; ``None`` if there was none
    :param now: when this look ended, UTC
    """
    known: dict[tuple[str, tuple[str, str]], ReadinessCheck] = {}
    try:
        before = verbs_in(earlier) if earlier is not None else ()
    except ReadinessUnreadable:
        before = ()
    for verb in before:
        known.update({(verb.verb, check.about): check for check in verb.checks})
    return tuple(
        replace(verb, checks=tuple(_since(check, known.get((verb.verb, check.about)), now) for check in verb.checks))
        for verb in found
    )


def facts_of(verbs: Iterable[VerbReadiness]) -> dict[str, Any]:
    """Return what the watch keeps."""
    return {"verbs": [each.shortened().to_json() for each in verbs]}


def verbs_in(facts: Mapping[str, Any]) -> tuple[VerbReadiness, ...]:
    """Read what :func:`facts_of` returned.

    :raises ReadinessUnreadable: it is something else, or does not say something of each verb
    """
    try:
        verbs = decode(tuple[VerbReadiness, ...], facts.get("verbs"))
    except NotDecoded as error:
        raise ReadinessUnreadable(f"what is stored of the verbs is damaged: {error}") from error
    if sorted(each.verb for each in verbs) != sorted(get_args(ReadyVerb)):
        raise ReadinessUnreadable("the stored result does not say something of each verb")
    return tuple(replace(each, checks=worst_first(each.checks)) for each in verbs)


def _since(check: ReadinessCheck, before: ReadinessCheck | None, now: datetime) -> ReadinessCheck:
    same = before is not None and before.outcome == check.outcome and before.since is not None
    return replace(check, since=before.since if same and before else now)


def _changed_since(asked_at: datetime, health: WatchStatus) -> str:
    """Say that the register has changed since the clusters were asked; empty if nobody knows of a change.

    :param asked_at: when the look ended, UTC; it may have read the register a moment before
    """
    facts = health.result.facts if health.result else {}
    try:
        recorded_at, run = datetime.fromisoformat(facts["recorded_at"]), facts["run"]
        if recorded_at <= asked_at - _LOOKING:
            return ""
    except (KeyError, TypeError, ValueError):
        return ""
    return _changed_by(run)


def _changed_by(run: str) -> str:
    said = f"run {run} has changed the group since the clusters were asked"
    return f"{said}: dr_readiness asks them again within two minutes after its end; if not, trigger it"


def _good_since(asked_at: datetime, health: WatchStatus) -> bool:
    """Return whether health has turned good after the clusters were asked, such as when one of them came back."""
    return health.result is not None and health.outcome == "ok" and health.result.begun > asked_at


def _is_held(health: WatchStatus) -> bool:
    return health.result is not None and not health.reason and health.result.facts.get("held") is True


def _all_unknown(reason: str) -> tuple[VerbReadiness, ...]:
    check = ReadinessCheck("readiness_known", "unknown", reason)
    return tuple(VerbReadiness(verb, (check,)) for verb in get_args(ReadyVerb))


def _of_watches(verb: ReadyVerb, watches: Iterable[WatchStatus], asked_at: datetime | None) -> Iterable[ReadinessCheck]:
    for status in watches:
        if status.watch.name == ASKED or (verb == "failback" and status.watch.name != "health"):
            continue
        name, asked_since = f"watch {status.watch.dag_id}", _asked_since(status, asked_at)
        several = status.result.of_standbys if status.result is not None and not status.reason else ()
        if verb == "planned_failover" and len(several) > 1 and not asked_since:
            for each in several:
                outcome = _counts_as(verb, status.watch.name, each.outcome)
                said = f"to {each.standby}: {next(iter(each.said), _said(status))}"
                yield ReadinessCheck(name, outcome, said, _begun(status), each.standby)
            continue
        outcome = "warning" if asked_since else _counts_as(verb, status.watch.name, status.outcome)
        yield ReadinessCheck(name, outcome, _said(status), _begun(status))


def _asked_since(status: WatchStatus, asked_at: datetime | None) -> bool:
    """Return whether a watch left the group alone, or looked before its last move, and the clusters were asked since.

    It leaves a group alone while a run moves it, and may look again only half an hour later. What it would have asked
    is among the checks of the preflight.
    """
    is_left = status.before_move or (status.outcome == "left_alone" and not status.reason)
    left = status.result if is_left else None
    return left is not None and asked_at is not None and left.looked_at < asked_at


def _counts_as(verb: ReadyVerb, watch: WatchName, outcome: WatchOutcome) -> CheckOutcome:
    """Return what the result of a watch makes of a verb.

    A failover away from a cluster that is down needs none of the watches: they look at both clusters, and are red or
    unknown because of the disaster itself. They only say that less is known.
    """
    if outcome in CALM:
        return "ok" if outcome == "ok" else "warning"
    if verb != "planned_failover":
        return "warning"
    if outcome != "failed":
        return "unknown"
    return "failed" if watch in _STOPS_PLANNED else "warning"


def _said(status: WatchStatus) -> str:
    found = status.result
    words = (status.reason, *(found.sentences[:1] if found else ()))
    return ": ".join(word for word in words if word) or "nothing was said"


def _begun(status: WatchStatus) -> datetime | None:
    return status.result.begun if status.result is not None and not status.reason else None
