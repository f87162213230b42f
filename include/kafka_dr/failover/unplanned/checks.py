"""Everything that has to hold before the source is given up, and the facts that a person decides about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kafka_dr.approvals import decision
from kafka_dr.checks import (
    authorizers,
    input_checks,
    open_conflicts,
    pattern_topics,
    register_checks,
    route_ahead,
    topic_identity,
)
from kafka_dr.checks.cluster_checks import (
    active_cluster,
    foreign_denies_remain,
    leaderless,
    right_clusters,
    target_refuses,
)
from kafka_dr.counted import counted
from kafka_dr.disaster.disaster_rule import ClusterVerdict, vantages_missing
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned.cut_over_groups import no_live_members
from kafka_dr.failover.unplanned import last_known
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import found_in
from kafka_dr.group_offsets import group_costs, local_groups, other_topics
from kafka_dr.named_rows import rows_of
from kafka_dr.outcomes import PASSING, Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs import background, members
from kafka_dr.runs.request import MOVES
from kafka_dr.runs.run import Run

#: How long each question about the target may take, in seconds; they are asked at the same time.
_SECONDS = 8.0
_HOLD_DOWN = "hold_down"


def refused_at_once(run: Run) -> tuple[Check, ...]:
    """Return what forbids the run whatever the probes will say, so that nobody waits for them."""
    first = active_cluster(run)
    if first.outcome != "ok":
        return (first,)
    questions = {_HOLD_DOWN: lambda: hold_down(run)}
    answers = background.answers_within(questions, seconds=_SECONDS).items()
    known = [answer for _, answer in answers if isinstance(answer, Check)]
    too_few = "" if run.request.override else vantages_missing(run.group.disaster)
    if too_few:
        said = (
            f"{too_few}. If both clusters and their registers work, use dr_planned_failover; else trigger it with an "
            "override"
        )
        known.append(Check("source_is_down", "failed", said))
    refused = tuple(check for check in known if check.outcome == "failed")
    return (first, *refused) if refused else ()


def unplanned_checks(run: Run, verdict: ClusterVerdict) -> tuple[Check, ...]:
    """Ask every question; one that cannot be answered is unknown and does not keep the others from being asked.

    :param verdict: what the probes say about the source
    """
    first = active_cluster(run)
    if first.outcome != "ok":
        return (first,)
    return (first, source_is_down(run, verdict), *target_checks(run))


def target_checks(run: Run) -> tuple[Check, ...]:
    """Ask everything but the disaster itself that has to hold; nothing here needs the source."""
    questions: dict[str, Callable[[], Check]] = {name: _bound(ask, run) for name, ask in _QUESTIONS.items()}
    if run.record().has_several:
        questions["registers_answer"] = lambda: registers_answer(run)
    if run.declared.member_of is not None:
        questions[members.TARGET_SERVES] = lambda: members.target_serves(run)
        questions[members.NO_GUESTS] = lambda: members.guests_are_left(run)
        questions[members.FROZEN_ELSEWHERE] = lambda: members.frozen_where_known(run)
        questions[local_groups.NAME] = lambda: last_known.local_groups_left(run)
        questions[open_conflicts.NAME] = lambda: open_conflicts.open_conflicts(run)
    if run.declared.topic_patterns:
        # Of topics that only the source has, nothing can be asked.
        questions[pattern_topics.NAME] = lambda: pattern_topics.topics_of_patterns(run, (run.target,))[0]
    answers = background.answers_within(questions, seconds=_SECONDS)
    return tuple(a if isinstance(a, Check) else _unanswered(name, a) for name, a in answers.items())


def _unanswered(name: str, error: object) -> Check:
    # The claim asks this one again, and reads nothing that others wrote.
    # A route that cannot be read says nothing, either.
    return Check(name, "excused" if name in (input_checks.NAME, route_ahead.NAME) else "unknown", str(error))


def decision_facts(run: Run, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the facts that an approval is bound to; none of them needs the source.

    :param checks: results of the checks of the same moment
    """
    switch = decision.of_switch(run, checks, seen_on=run.target)
    return {
        **switch,
        "check_outcomes": {**switch["check_outcomes"], **_under_an_override(run, switch["check_outcomes"])},
        "taken_from": last_known.taken_from(run),
        "offset_classes": rows_of(last_known.classes(run), **group_costs.CLASSES),
        "override": run.request.override,
        **({"fetch_seconds": run.group.timing.fetch_seconds} if run.record().has_several else {}),
        **other_topics.decided(checks),
    }


def _under_an_override(run: Run, verdicts: Mapping[str, str]) -> dict[str, str]:
    """Return the verdicts that an override covers: each only says that it passes, not why.

    The rule may hold at one look and not at the next. The approval of an override covers both cases.
    """
    asked = run.request
    covered = ("source_is_down", "positions_known", route_ahead.NAME)
    about = {**dict.fromkeys(covered, asked.override), "hold_down": asked.acknowledged}
    return {name: "passes" for name, said in about.items() if said and verdicts.get(name) in PASSING}


def source_is_down(run: Run, verdict: ClusterVerdict) -> Check:
    """Return whether the source may be given up: by the topology's rule, or by an override with a reason."""
    facts = {"signs": list(verdict.signs), "down_for": list(verdict.down_for), "up_for": list(verdict.up_for)}
    if verdict.answer == "down":
        return Check("source_is_down", "ok", verdict.sentence, facts)
    if run.request.override:
        return Check("source_is_down", "overridden", verdict.sentence, {**facts, "override": run.request.override})
    outcome = "failed" if verdict.answer == "up" else "unknown"
    return Check("source_is_down", outcome, verdict.sentence, facts)  # type: ignore[arg-type]


def hold_down(run: Run) -> Check:
    """Return whether the last move is long enough ago, or the requester has acknowledged that it is not."""
    moved, limit = last_move(run.register_state, run.history), run.group.timing.hold_down_seconds
    if moved is None:
        return Check("hold_down", "ok", f"{run.group.name} has never been moved")
    by, at = moved
    age = (run.clock.now() - at).total_seconds()
    said = f"{by} moved {run.group.name} {duration(age)} ago"
    if age >= limit:
        return Check("hold_down", "ok", said)
    if run.request.acknowledged:
        return Check(
            "hold_down",
            "overridden",
            f"{said}, less than hold_down_seconds ({duration(limit)}); the requester acknowledged that",
        )
    detail = (
        f"{said}, expected at least hold_down_seconds ({duration(limit)}): find out why it fails on both clusters, or "
        "trigger a new run that acknowledges it"
    )
    return Check("hold_down", "failed", detail)


def last_move(state: RegisterState | None, history: Mapping[str, Mapping[str, Any]]) -> tuple[str, datetime] | None:
    """Return what moved the group last, and when; ``None`` if nothing did.

    The record alone is not enough: after a later claim or roll back it no longer names the move.

    :param history: everything journaled about the group, by run
    """
    moves = [
        (f"run {run}", datetime.fromisoformat(facts["opened"]["at"]))
        for run, facts in history.items()
        if "opened" in facts
    ]
    # A failback that has not ended has moved nothing, and made nothing ready to be moved.
    counts = state is not None and state.phase is not Phase.SWITCHING and not state.is_failing_back
    if state is not None and counts and state.verb in MOVES:
        moves.append((f"{state.verb} {state.run}", state.at))
    return max(moves, key=lambda move: move[1], default=None)


def _bound(ask: Callable[[Run], Check], run: Run) -> Callable[[], Check]:
    return lambda: ask(run)


def _topics_on_target(run: Run) -> Check:
    found = run.read_cache.topics(run.target)
    with_copies = {**found, **run.described_copies(run.target)}
    wrong = [f"{name} has partitions without a leader" for name in leaderless(with_copies)]
    if run.group.canary_topic not in found:
        wrong.append(f"the canary topic {run.group.canary_topic} is missing")
    many = counted(len(found), "topic has its leaders", "topics have their leaders")
    detail = f"{run.target}: {'; '.join(wrong[:5])}" if wrong else f"on {run.target} {many}"
    return Check.that("topics_on_target", not wrong, detail)


def _same_topics_on_target(run: Run) -> Check:
    """Return whether the target still has the topics that were copied; of the source nothing can be asked.

    A topic that was deleted there and created again lacks records, and the approver has to know.
    """
    found = topic_identity.same_topics(run, run.record(), run.target, keeps=run.target, ask=run.target)
    if found.outcome == "failed" and run.request.override:
        return replace(found, outcome="overridden", facts={"override": run.request.override})
    if found.outcome == "failed":
        return replace(found, detail=f"{found.detail}. To give those records up, trigger a new run with an override")
    return found


def _target_can_be_opened(run: Run) -> Check:
    denies = found_in(run.rules_in_force(run.target), plan.work_denies(run.group.on(run.target)))
    foreign = denies - run.clients.register(run.target).added_acls(run.group.name, run.target).current
    if not foreign:
        return Check(
            "target_can_be_opened",
            "ok",
            f"every DENY that keeps applications out of {run.target} was added by this project and can be lifted",
        )
    return foreign_denies_remain(run, foreign)


def _positions_known(run: Run) -> Check:
    """Return whether the offsets of the groups are known; without them nobody knows what each group has read."""
    try:
        classes = last_known.classes(run)
    except KafkaDrError as error:
        return Check("positions_known", "unknown", str(error))
    if classes:
        # How sure each offset is, is shown once, together with what it costs: see kafka_dr.group_offsets.group_costs.
        said = f"the committed offsets of {counted(len(classes), 'group')} on {run.source} are known"
        return Check("positions_known", "ok", said, {"classes": rows_of(classes, **group_costs.CLASSES)})
    if last_known.look(run) is not None:
        return Check("positions_known", "ok", f"no group had committed an offset when {run.source} answered last")
    detail = (
        f"the committed offsets on {run.source} are unknown: each group will begin where its own auto.offset.reset says"
    )
    if run.group.groups_policy.unknown_offsets == "earliest":
        return Check("positions_known", "ok", detail)
    if run.request.override:
        return Check("positions_known", "overridden", detail)
    # A headline has room for this much: who reads half of it would not know what to do.
    said = (
        f"no look at the committed offsets on {run.source} is kept: let dr_canary look now, or override, and each "
        "group begins where its auto.offset.reset says"
    )
    return Check("positions_known", "failed", said)


def groups_read_only_owned_topics(run: Run) -> Check:
    """Judge what the groups read when the source answered last; what is unknown does not stop the run."""
    found = last_known.elsewhere(run)
    if found is None:
        said = f"it is unknown what the groups read outside {run.group.name}: their offsets there are not moved"
        return Check(other_topics.NAME, "excused", said)
    check = other_topics.judged(run, found, cluster=run.source)
    if check.outcome == "unknown":
        return replace(check, outcome="excused")
    if check.outcome == "failed" and run.request.override:
        return replace(check, outcome="overridden", facts={**check.facts, "override": run.request.override})
    if check.outcome == "failed":
        return replace(check, detail=f"{check.detail}, or trigger a new run with an override and its reason")
    return check


def registers_answer(run: Run) -> Check:
    """Return whether more than half of several registers answer; else an override names the others as off.

    The claim has to be in more than half of them, or another run could take the group to another standby.
    """
    clusters = [name for name, _ in run.record().roles.each]
    missing = [name for name in clusters if run.seen.get(name) is None]
    said = f"{len(clusters) - len(missing)} of the {len(clusters)} registers of {run.group.name} answer"
    if not missing:
        return Check("registers_answer", "ok", said)
    said = f"{said}, and {' and '.join(missing)} {'does' if len(missing) == 1 else 'do'} not"
    if 2 * len(missing) < len(clusters):
        return Check("registers_answer", "ok", said)
    said = f"{said}. Another run could take the group to one of these: the requester knows that they are off"
    return Check("registers_answer", "overridden", said, {"override": run.request.override})


def register_is_ours(run: Run) -> Check:
    """Return whether the target's register holds only records of this project; others need an override to be read."""
    found = run.clients.register(run.target).foreign(run.group.name)
    if not found:
        return Check("register_records", "ok", f"the register of {run.target} holds only records of this project")
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    said = f"{found[0]}{more}: ignored, and the newest record before it counts"
    return Check("register_records", "overridden", said, {"override": run.request.override})


_QUESTIONS: Mapping[str, Callable[[Run], Check]] = {
    _HOLD_DOWN: hold_down,
    "register_records": register_is_ours,
    register_checks.USABLE: lambda run: register_checks.registers_usable(run, (run.target,)),
    "right_target": lambda run: right_clusters(run, (run.target,), name="right_target"),
    authorizers.NAME: lambda run: authorizers.authorizer_is_kafkas(run, run.target),
    "topics_on_target": _topics_on_target,
    topic_identity.NAME: _same_topics_on_target,
    "target_refuses": target_refuses,
    "target_can_be_opened": _target_can_be_opened,
    "no_live_members_on_target": no_live_members,
    "positions_known": _positions_known,
    # The disaster does not wait for it: what is not recorded is not read, and less is known.
    input_checks.NAME: lambda run: input_checks.inputs_recorded(run, changed="excused"),
    route_ahead.NAME: lambda run: route_ahead.route_is_not_ahead(run, run.record(), override=run.request.override),
    other_topics.NAME: groups_read_only_owned_topics,
}
