"""How a run ended, and what a reader has to know about it, according to its evidence.

The page must render for a run that died anywhere. What is missing is shown as missing, never as good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_dr.evidence.loss_line import loss_line
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.view_model import DecisionView, StepView, text_of

#: The outcome of a step that could not be proven, after which the run continued past the point of no return. The
#: report of the run says what is known in the end.
CONTINUED_UNPROVEN = "unproven"
#: How many rows a sentence names.
_MOST_NAMED = 5
#: How many commands of what is left to do are shown at the top.
_MOST_TO_DO = 20
#: Steps that may be the last one of a run, and what the run is called then.
_LAST_STEPS = {"report": "Completed", "plan": "Planned", "apply": "Applied", "adopt": "Adopted"}
#: What is kept with a run and does not show how the run ended.
_NOT_OF_THE_RUN = frozenset({"fence_on_return", "resume"})
#: The proof in a record from which secret or unusable facts were left out.
_IS_WHOLE = "evidence_is_whole"
#: Phases in which the old cluster holds, or may hold, records that were never replicated.
_OLD_CLUSTER_DIFFERS = ("unfenced", "diverged")
#: The verbs after which the target is active.
_MOVED = ("planned_failover", "unplanned_failover")
#: What makes the old cluster a copy again, by the phase in which the run left the group.
_NEXT = {"unfenced": "dr_health fences {source} when it answers, then a failback", "diverged": "a failback to {source}"}


def verdict_of(
    steps: Sequence[StepView], decisions: Sequence[DecisionView], facts: Mapping[str, Any]
) -> tuple[str, StatusColour]:
    """Return how a run ended, and the colour of that.

    :param facts: of all steps
    """
    if not steps:
        return "Nothing was recorded", "unknown"
    verdict, colour = _verdict_of_real_run(steps, decisions, facts)
    return (f"Dry run: {verdict[0].lower()}{verdict[1:]}", colour) if is_dry(steps) else (verdict, colour)


def is_dry(steps: Iterable[StepView]) -> bool:
    """Return whether the run was to change nothing; also for a dry run that was refused."""
    return any(step.outcome == "would_do" or step.facts.get("dry_run") is True for step in steps)


def has_expired(steps: Iterable[StepView]) -> bool:
    """Return whether nobody answered in time."""
    return any(step.facts.get("expired") is True for step in steps)


def deciding_roll_back(steps: Iterable[StepView]) -> StepView | None:
    """Return the roll back that decided how a run ended; ``None`` if there is none.

    After a refused roll back the run can go forward. A roll back without facts found nothing to undo.
    """
    back = next((each for each in steps if each.step == "roll_back"), None)
    if back is None or back.outcome == "refused" or not (back.facts or back.colour != "good"):
        return None
    return back


def notes_of(steps: Sequence[StepView], facts: Mapping[str, Any]) -> Iterable[str]:
    """Yield what a reader has to know about a run, above all about one that did not copy everything.

    :param facts: of all steps
    """
    if override := facts.get("override"):
        yield f"The rule was overridden: {override}."
    yield from _recovery(facts.get("recovery"))
    yield from _loss(facts.get("predicted_loss"))
    yield from _other_standbys(facts.get("from_other_standbys"))
    yield from _old_cluster(facts)
    yield from _left_out(facts.get("left_out"))
    yield from _left_to_do(facts.get("left_to_do"))
    yield from _old_flow(facts.get("old_flow"))
    for step in steps:
        for proof in step.proofs:
            if proof.name == _IS_WHOLE:
                yield f"The evidence of {step.title.lower()} is not complete: {proof.detail}"


def _verdict_of_real_run(
    steps: Sequence[StepView], decisions: Sequence[DecisionView], facts: Mapping[str, Any]
) -> tuple[str, StatusColour]:
    back = deciding_roll_back(steps)
    forward = [each for each in steps if each.step != "roll_back" and each.step not in _NOT_OF_THE_RUN]
    if back is not None:
        return ("Rolled back", "warn") if back.colour == "good" else ("The roll back did not finish", "bad")
    if decisions and decisions[-1].counted and decisions[-1].said == "rejected":
        return f"Rejected by {decisions[-1].who}", "warn"
    if has_expired(steps):
        return "Expired: nobody answered in time", "warn"
    for step in forward:
        if step.colour == "bad" and step.outcome != CONTINUED_UNPROVEN:
            return f"Stopped at {step.title.lower()}: {step.outcome}", "bad"
    for step in forward:
        if step.colour == "unknown":
            return f"Unknown at {step.title.lower()}: {step.outcome}", "unknown"
    if not forward:
        return "Nothing was recorded except a roll back", "unknown"
    if forward[-1].step in _LAST_STEPS:
        return _verdict_of_complete_run(forward[-1], facts)
    return f"Not finished: the last step recorded is {forward[-1].title.lower()}", "warn"


def _verdict_of_complete_run(last: StepView, facts: Mapping[str, Any]) -> tuple[str, StatusColour]:
    """Say where the group is active now, and what is next. The figure of an objective says that it was missed."""
    phase, verdict = facts.get("phase"), _LAST_STEPS[last.step]
    source, target, moved = text_of(facts.get("source")), text_of(facts.get("target")), facts.get("verb") in _MOVED
    active = target if moved else source if facts.get("verb") == "failback" else ""
    said = [f"{verdict}, {phase}" if phase in _OLD_CLUSTER_DIFFERS else verdict]
    said += [f"{active} is active"] if active else []
    said += [f"next: {_NEXT[phase].format(source=source)}"] if phase in _NEXT and moved and source else []
    return ": ".join(filter(None, (said[0], "; ".join(said[1:])))), "warn" if phase in _OLD_CLUSTER_DIFFERS else "good"


def _recovery(found: object) -> Iterable[str]:
    """Yield how long the service was away, and what that time was spent on."""
    if not isinstance(found, dict):
        return
    whole, approved = found.get("since_fault_seconds"), found.get("since_approval_seconds")
    spent = found.get("parts")
    parts = [f"{name} {seconds:.1f} s" for name, seconds in spent.items()] if isinstance(spent, dict) else []
    listed = f": {', '.join(parts)}" if parts else ""
    seen = text_of(found.get("last_service_seen"))
    if isinstance(whole, (int, float)):
        yield f"Without proven service for {whole:.1f} s{listed}. Last proof: {seen}."
    else:
        yield f"How long the service was away is not known, because {seen}{listed}."
    if isinstance(approved, (int, float)):
        yield f"From the last approval to verified traffic: {approved:.1f} s."


def _loss(loss: object) -> Iterable[str]:
    if isinstance(loss, dict):
        yield f"Loss: {loss_line(loss)}."


def _other_standbys(sentences: object) -> Iterable[str]:
    """Yield what was fetched from other standbys, and what stays on one of them."""
    if isinstance(sentences, list):
        yield from (f"Other standbys: {text_of(each)}." for each in sentences)


def _old_cluster(facts: Mapping[str, Any]) -> Iterable[str]:
    side, returned = facts.get("source_side"), facts.get("returned")
    if isinstance(side, dict):
        yield f"The old cluster: {text_of(side.get('detail'))}."
    if isinstance(returned, dict):
        since = returned.get("since_opening")
        many = "an unknown number of" if since is None else f"at most {since}"
        until = text_of(returned.get("fenced_at"))
        yield f"After the hand-over the old cluster accepted {many} records, until it was fenced at {until}."


def _left_out(rows: object) -> Iterable[str]:
    """Yield which groups were moved without their offsets in topics outside the protection group."""
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if found:
        named = ", ".join(f"{text_of(row.get('group'))} in {text_of(row.get('topic'))}" for row in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        yield f"Not moved, because the topic is outside the protection group: the offsets of {named}{more}."


def _left_to_do(rows: object) -> Iterable[str]:
    """Yield what owners of readers have to do that a failover does not move, with each command as it is typed."""
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    for row in found[:_MOST_TO_DO]:
        parts = (text_of(row.get(key)) for key in ("reader", "to_do", "command"))
        said = ": ".join(filter(None, parts))
        yield f"Left to do: {said}"
    if len(found) > _MOST_TO_DO:
        yield f"Left to do: {len(found) - _MOST_TO_DO} more commands, see the facts of the report."


def _old_flow(flow: object) -> Iterable[str]:
    if isinstance(flow, dict):
        still = "" if flow.get("stopped") is True else "not seen stopped; the flow fence denies its writes. "
        yield f"The old flow: {still}{text_of(flow.get('detail'))}."
