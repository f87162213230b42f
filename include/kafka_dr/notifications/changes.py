"""What changed between two looks of a watch at a group. Pure: the same two results always make the same answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_dr.notifications.notification import Notification
from kafka_dr.topology.notifiers import SAYS_MORE, Occasion
from kafka_dr.verb_words import verb_words
from kafka_dr.watch_results import ALL_WATCHES, CALM, KeptResult, WatchOutcome
from kafka_dr.watch_results.kept import ROLES

#: While a run holds the group most watches look away; that is no change of what they know.
_JUDGED: tuple[WatchOutcome, ...] = (*CALM, "failed", "unknown")
_MOST_DETAILS = 10
_HELD_AFTER_HAND_OVER = "handed_over"
_GIVEN_UP = "roll_back"
#: What is so when no run holds the group any more, by the phase, and by the verb where that says more.
_ENDED: Mapping[str, str] = {
    "stable": "{active} is active, and {standby} is its standby",
    "failback": "{standby} is a copy again, and {active} is active",
    "take_over": "adopted, active on {active}, and {standby} holds its copy",
    "adopt": "adopted, active on {active}, and {standby} holds its copy",
    "unfenced": "{active} is active, and {standby} is not fenced yet",
    "diverged": "{active} is active, and {standby} is fenced and no copy any more",
    "released": "released: nothing protects the group any more",
}
#: The same of a run that was rolled back or abandoned, by the phase.
_GIVEN_UP_IN: Mapping[str, str] = {
    "stable": "rolled back, still active on {active}",
    "diverged": "abandoned: {active} is active as before, and {standby} is still no copy",
    "released": "given back: the group is not adopted",
}


def changes_between(before: KeptResult | None, now: KeptResult) -> tuple[Notification, ...]:
    """Return what a new result gives people to know.

    The first result of a watch is sent only if it is not good.

    :param before: the result of the look before; ``None`` if there was none, or it could not be read
    :param now: the new result, with its past
    """
    found = [*_of_register(before, now)] if now.watch == "health" else []
    own = [*_own_occasions(before, now)]
    change = _of_outcome(before, now)
    if change is not None and not {SAYS_MORE.get(each.occasion) for each in own} & {change.occasion}:
        found.append(change)
    found += own
    if now.watch == "readiness" and _overdue(now) and not _overdue(before):
        found.append(_drill_overdue(now))
    return tuple(found)


def _of_outcome(before: KeptResult | None, now: KeptResult) -> Notification | None:
    # Readiness is judged again after each look of health: see readiness_changes.
    if now.watch == "readiness" or now.outcome not in _JUDGED or _last_judged(before) == now.outcome:
        return None
    was_good, is_good = _last_judged(before) in (None, *CALM), now.outcome in CALM
    if was_good and is_good:
        return None
    occasion: Occasion = "check_good" if is_good else "check_red"
    said = "good again" if is_good else now.outcome.upper()
    happened = f"{ALL_WATCHES[now.watch].question} {said} ({ALL_WATCHES[now.watch].dag_id})"
    return Notification(now.group, occasion, now.looked_at, happened, now.sentences[:_MOST_DETAILS])


def _own_occasions(before: KeptResult | None, now: KeptResult) -> Iterator[Notification]:
    """Yield what has a name of its own among the things that a look can find; once, when it begins.

    A look that a run disturbed has still heard which clusters answer, and the next one will not find a silent one.
    """
    judged = now.outcome in _JUDGED
    if judged and _half_moved(now) and not _half_moved(before):
        yield _own(now, "half_moved", "the group is HALF MOVED (dr_health)")
    if judged and (missing := _named(now, "fence_missing") - _named(before, "fence_missing")):
        yield _own(now, "fence_missing", f"the fence of {_list(missing)} was not complete (dr_health)")
    if back := _named(before, "silent") & _named(now, "answering"):
        yield _own(now, "cluster_back", f"{_list(back)} answers again (dr_health)")
    if judged and _lost_canaries(now) and not _lost_canaries(before):
        yield _own(now, "canary_lost", "a canary is lost (dr_canary)")


def _own(now: KeptResult, occasion: Occasion, happened: str) -> Notification:
    return Notification(now.group, occasion, now.looked_at, happened, now.sentences[:_MOST_DETAILS])


def _named(result: KeptResult | None, fact: str) -> frozenset[str]:
    """Return the clusters that a fact of health lists; none if it says something else."""
    stored = result.facts.get(fact) if result is not None and result.watch == "health" else None
    return frozenset(map(str, stored)) if isinstance(stored, list) else frozenset()


def _list(names: frozenset[str]) -> str:
    return " and ".join(sorted(names))


def _half_moved(result: KeptResult | None) -> bool:
    found = result.facts.get("open_checks") if result is not None and result.watch == "health" else None
    return isinstance(found, Mapping) and found.get("half_moved") == "failed"


def _lost_canaries(result: KeptResult | None) -> bool:
    return result is not None and result.watch == "canary" and result.facts.get("verdict") == "lost"


def _overdue(result: KeptResult | None) -> bool:
    drill = result.facts.get("drill") if result is not None else None
    return isinstance(drill, Mapping) and drill.get("overdue") is True


def _drill_overdue(now: KeptResult) -> Notification:
    drill = now.facts["drill"]
    last, days = drill.get("last"), drill.get("every_days")
    seen = f"the last was {last.get('id')}" if isinstance(last, Mapping) else "there was none"
    happened = "no drill passed for longer than the topology wants (dr_drill)"
    return Notification(now.group, "drill_overdue", now.looked_at, happened, (f"drill.every_days is {days}; {seen}.",))


def _last_judged(result: KeptResult | None) -> WatchOutcome | None:
    """Return the newest outcome that says something of the group; ``None`` if there was none."""
    if result is None:
        return None
    outcomes = (result.outcome, *(period.outcome for period in result.history))
    return next((outcome for outcome in outcomes if outcome in _JUDGED), None)


def _of_register(before: KeptResult | None, now: KeptResult) -> Iterator[Notification]:
    """Yield what happened to the group by its register, as two looks at it saw it; what came and went is not seen."""
    old, new = before.last_record if before is not None else {}, now.facts
    if not (_is_record(old) and _is_record(new)) or _state(old) == _state(new):
        return
    given_up = new["verb"] == _GIVEN_UP and old["held"] and old["run"] == new["run"]
    verb = verb_words(str((old if given_up else new)["verb"]))
    moved = old["active"] != new["active"]
    for occasion, happened in _steps(old, new, moved=moved, said=f"{verb}, run {new['run']}"):
        yield Notification(now.group, occasion, now.looked_at, happened, now.sentences[:1])


def _steps(old: Mapping[str, Any], new: Mapping[str, Any], *, moved: bool, said: str) -> Iterator[tuple[Occasion, str]]:
    if new["held"]:
        if not old["held"] or old["run"] != new["run"]:
            yield "run_began", f"a run began: {said}"
        if new["phase"] == _HELD_AFTER_HAND_OVER and old["phase"] != _HELD_AFTER_HAND_OVER:
            yield "point_of_no_return", f"{new['active']} is active now, and the run can only be finished: {said}"
    elif moved:
        yield "moved", f"moved from {old['active']} to {new['active']}, {new['phase']}: {said}"
    elif new["verb"] == _GIVEN_UP:
        yield "rolled_back", f"{_ending(_GIVEN_UP_IN, new)}: {said}"
    else:
        yield "run_ended", f"{_ending(_ENDED, new)}: {said}"


def _ending(words: Mapping[str, str], new: Mapping[str, Any]) -> str:
    phase, roles = str(new["phase"]), new.get(ROLES)
    if isinstance(roles, Mapping):
        named = ", ".join(f"{name} {role}" for name, role in sorted(roles.items()))
        return f"{'still ' if new['verb'] == _GIVEN_UP else ''}active on {new['active']}, with the standbys {named}"
    found = (phase == "stable" and words.get(str(new["verb"]))) or words.get(phase, f"{phase} on {{active}}")
    return found.format(active=new["active"], standby=new.get("standby") or "the standby")


def _is_record(facts: Mapping[str, Any]) -> bool:
    return {"phase", "active", "epoch", "run", "verb", "held"} <= facts.keys()


def _state(facts: Mapping[str, Any]) -> tuple[Any, ...]:
    return facts["phase"], facts["active"], facts["epoch"], facts["held"]
