"""Everything that has to hold before a release. The name of each check is part of the decision facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kafka_dr.adoption.un_adopt import leave
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.checks.cluster_checks import active_cluster, right_clusters
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check, asked, worst
from kafka_dr.register import Phase
from kafka_dr.register.transitions import way_out
from kafka_dr.runs.sealing import evidence_can_be_signed

Question = Callable[[ReleaseContext], Check]


def release_checks(context: ReleaseContext) -> tuple[Check, ...]:
    """Ask every question; one that cannot be answered is unknown."""
    if context.leaving:
        signed = asked("evidence_can_be_signed", partial(evidence_can_be_signed, context.run.clients))
        return (*_of_leaving(context), signed)
    state = context.run.record()
    if state.phase is not Phase.STABLE and not state.is_held:
        return (Check("group_is_stable", "failed", f"{state.group} is {state.phase}: {way_out(state)}"),)
    first = tuple(asked(name, partial(ask, context)) for name, ask in _FIRST)
    if worst(first) != "ok":
        return first
    questions = _QUESTIONS if context.run.declared.member_of is None else (*_QUESTIONS, _OF_MEMBERS)
    return first + tuple(asked(name, partial(ask, context)) for name, ask in questions)


def _of_leaving(context: ReleaseContext) -> tuple[Check, ...]:
    try:
        return tuple(leave.checks(context))
    except KafkaDrError as error:
        return (Check("standby_can_leave", "unknown", f"whether {context.leaving} can leave is not known: {error}"),)


def _can_be_handed_back(context: ReleaseContext) -> Check:
    """Return whether there is something that copies the topics after the release."""
    run, name = context.run, "can_be_handed_back"
    if context.hand_back_to == "own_flow":
        found = context.own_flows(name)
        each = "each stays" if run.further_standbys else "stays"
        return replace(found, detail=f"{found.detail}, and {each} as it is: nobody looks after it any more")
    if context.direction != (run.source, run.target):
        there = " to ".join(context.direction)
        said = (
            f"the existing replication copied from {there}, and {run.source} is active now: move the group back with "
            "dr_planned_failover first, or leave this project's flow (own_flow)"
        )
        return Check.that(name, False, said)
    wrong = context.existing.unfit(sorted(run.operator(run.source).topics.names()))
    status = context.existing.status()
    said = "; ".join(wrong) or f"{context.existing.described}: {status}"
    return Check.that(name, not wrong, said)


def _copies_stay_closed(context: ReleaseContext) -> Check:
    """Return whether somebody keeps applications from writing to copies on a member after its group is released."""
    name, member_of = "copies_stay_closed", context.run.declared.member_of
    if member_of is None or not member_of.member:
        return Check(name, "ok", "no copy is closed by this group alone")
    others = ", ".join(group for group in member_of.groups.values() if group != context.run.declared.name)
    said = (
        f"nobody keeps applications from writing to copies on {member_of.member} after the release. If other members "
        f"stay together, stop the flows to {member_of.member} and take it out of the block, or release {others}, too"
    )
    return Check(name, "warning", said)


def all_topics_are_copied(context: ReleaseContext) -> Check:
    """Return whether each topic is copied after the release: some may have joined the group since its adoption."""
    name = "all_topics_are_copied"
    left = context.uncopied_topics()
    if not left:
        return Check(name, "ok", "every topic of the group is copied after the release, as far as settings say")
    shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
    said = (
        f"{context.existing.described} does not copy {shown}, so nothing copies that after the release: add it to the "
        "topics of that replication first, or release the group without it"
    )
    return Check(name, "warning", said)


def _former_replication_is_still(context: ReleaseContext) -> Check:
    """Return whether the existing replication is stopped: it is given positions, and must copy nothing before that."""
    name = "former_replication_is_still"
    if context.hand_back_to == "own_flow":
        return Check(name, "ok", "it is not started")
    status = context.existing.status()
    if not context.existing.abilities().state.can:
        return Check(name, "ok", f"{context.existing.described} cannot be asked; its principal is denied")
    return Check.that(name, status.at_rest, f"{status}" + ("" if status.at_rest else ", expected stopped: stop it"))


_FIRST: tuple[tuple[str, Question], ...] = (
    ("active_cluster", lambda c: active_cluster(c.run)),
    ("right_clusters", lambda c: right_clusters(c.run, (c.run.source, *c.standbys))),
)
_QUESTIONS: tuple[tuple[str, Question], ...] = (
    ("can_be_handed_back", _can_be_handed_back),
    ("all_topics_are_copied", all_topics_are_copied),
    ("former_replication_is_still", _former_replication_is_still),
    ("evidence_can_be_signed", lambda c: evidence_can_be_signed(c.run.clients)),
)
_OF_MEMBERS: tuple[str, Question] = ("copies_stay_closed", _copies_stay_closed)
