"""What members that take writes together have to know of each other: who serves, and whose clients are where.

Each member's clients have a record of their own. So a run writes its claim first, and then reads the records of the
others: of two runs that close each other's target, at least one sees the other one. A run whose target is left is
rolled back. Of those that see each other, the one of the member that is declared first waits for that, and continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

from kafka_dr import parallel
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState, highest
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

TARGET_SERVES = "target_serves"
NO_GUESTS = "no_guests"
FROZEN_ELSEWHERE = "groups_frozen_elsewhere"
#: How long the run of the member that is declared first waits until others, which are in its way, were rolled back.
_YIELD_SECONDS = 20.0


def to_be_copied(run: Run) -> tuple[TopicPartition, ...]:
    """Return the partitions of the source of which the target needs every record: all that the fence covers."""
    return run.partitions(run.source) if run.declared.closes(run.source) else ()


def target_serves(run: Run) -> Check:
    """Return whether the target takes the writes of applications when this run lets its clients in there."""
    member_of, target = run.declared.member_of, run.target
    if member_of is None or run.declared.closes(target):
        return Check(TARGET_SERVES, "ok", f"this run itself opens {target}")
    state = _record(run, member_of.groups[target])
    if isinstance(state, KafkaDrError):
        return Check(TARGET_SERVES, "unknown", f"whether {target} serves its own clients is not known: {state}")
    if state is None or not state.is_adopted:
        said = f"{member_of.groups[target]} is not adopted: adopt it with dr_adopt first"
        return Check(TARGET_SERVES, "failed", said)
    if state.active != target:
        said = f"the clients of {target} are on {state.active}, so {target} is closed: move them back first"
        return Check(TARGET_SERVES, "failed", said)
    if _moves(state):
        said = f"run {state.run} is about to move the clients of {target}, and would close it: let it end first"
        return Check(TARGET_SERVES, "failed", said)
    return Check(TARGET_SERVES, "ok", f"{target} serves its own clients")


def record_of(context: GroupContext, group: str) -> RegisterState | None:
    """Return the newest record of another group of the block, of the registers that answer.

    :raises KafkaDrError: none of them answers
    """
    found = _record(context, group)
    if isinstance(found, KafkaDrError):
        raise found
    return found


def may_leave(run: Run, *asked: Callable[[Run], Check]) -> tuple[Check, ...]:
    """Return the answers right after the claim, where members serve together.

    Of several runs that are in each other's way the one of the member that is declared first waits for the others.
    """
    if run.declared.member_of is None or run.request.dry_run:
        return ()
    return wait_until(
        lambda: tuple(ask(run) for ask in asked),
        lambda found: all(check.passes for check in found),
        clock=run.clock,
        seconds=_YIELD_SECONDS if is_first_of_moving(run) else 0.0,
    )


def is_first_of_moving(run: Run) -> bool:
    """Return whether no run moves the clients of a member that is declared before that of this run."""
    member_of = run.declared.member_of
    if member_of is None:
        return True
    earlier = takewhile(lambda member: member != member_of.member, member_of.groups)
    found = (_record(run, member_of.groups[member]) for member in earlier)
    return not any(isinstance(state, RegisterState) and _moves(state) for state in found)


def no_guests(run: Run) -> Check:
    """Return whether nobody but its own clients uses a member that this run is going to close."""
    guests = guests_on(run, run.source)
    if isinstance(guests, KafkaDrError):
        return Check(NO_GUESTS, "unknown", f"whether other members' clients are on {run.source} is not known: {guests}")
    if guests:
        said = f"{run.source} also serves {' and '.join(guests)}, whose clients would be refused: move them first"
        return Check(NO_GUESTS, "failed", said)
    return Check(NO_GUESTS, "ok", f"no other member's clients are on {run.source}")


def guests_are_left(run: Run) -> Check:
    """Return the same for an unplanned failover, which does not wait for other clients."""
    found = no_guests(run)
    return found if found.outcome == "ok" else replace(found, outcome="warning")


def groups_frozen_elsewhere(run: Run) -> Check:
    """Return whether no third member lets the groups read that move with these clients: they run on one at a time."""
    groups, ends = run.declared.consumer_groups, (run.source, run.target)
    third = [name for name in run.declared.clusters if groups and name not in ends]
    found = parallel.ask_each(lambda name: run.reads_refused(name, groups), third)
    unknown = [f"{name}: {each}" for name, each in found.items() if isinstance(each, KafkaDrError)]
    wrong = [each for each in found.values() if isinstance(each, Check) and not each.passes]
    if wrong:
        todo = f"dr_health adds what is missing, or python -m kafka_dr health --group {run.declared.name}"
        return Check(FROZEN_ELSEWHERE, "failed", f"{'; '.join(each.detail for each in wrong)}. {todo}")
    if unknown:
        said = f"whether {' and '.join(groups)} could also run there is not known: {'; '.join(unknown)}"
        return Check(FROZEN_ELSEWHERE, "unknown", said)
    where = f"{' and '.join(third)} would refuse {' and '.join(groups)}" if third else "no third member is concerned"
    return Check(FROZEN_ELSEWHERE, "ok", where)


def frozen_where_known(run: Run) -> Check:
    """Return the same for an unplanned failover, which does not wait for a member that does not answer."""
    found = groups_frozen_elsewhere(run)
    return replace(found, outcome="warning") if found.outcome == "unknown" else found


def configured_like(context: GroupContext, state: RegisterState) -> str:
    """Return whose configuration is the model if it is not that of this group's active cluster; else nothing.

    Each member would otherwise be made like each other one.
    """
    member_of = context.declared.member_of
    if member_of is None or (member_of.is_first and state.active == member_of.member):
        return ""
    first, group = next(iter(member_of.groups.items()))
    return f"the members are configured like {first}, by the changes that are planned for {group}"


def guests_on(context: GroupContext, cluster: str) -> list[str] | KafkaDrError:
    """Return the groups of other clients that are, or soon will be, on a member whose topics this group closes."""
    member_of = context.declared.member_of
    if member_of is None or not context.declared.closes(cluster):
        return []
    found = {name: _record(context, name) for name in member_of.groups.values() if name != context.declared.name}
    unknown = [state for state in found.values() if isinstance(state, KafkaDrError)]
    guests = [name for name, state in sorted(found.items()) if _uses(state, cluster)]
    return guests or (unknown[0] if unknown else [])


def _uses(state: RegisterState | KafkaDrError | None, cluster: str) -> bool:
    """Return whether clients are on a cluster, or a run is about to move them there."""
    if not isinstance(state, RegisterState) or not state.is_adopted:
        return False
    return state.active == cluster or (_moves(state) and state.moved_with == cluster)


def _moves(state: RegisterState) -> bool:
    """Return whether a run holds the group to move it."""
    return state.is_held and not state.is_failing_back


def _record(context: GroupContext, group: str) -> RegisterState | KafkaDrError | None:
    """Return the newest record of another group, of the registers that answer.

    One that has not answered to an unplanned failover is not asked again: applications wait for the run.
    """

    def read(cluster: str) -> RegisterState | None:
        if cluster in context.silent:
            raise TryAgain(f"{cluster} did not answer")
        return context.clients.register(cluster).read(group)

    try:
        found = context.each_cluster(read)
        known = {name: answer for name, answer in found.items() if not isinstance(answer, KafkaDrError)}
        return highest(known) if known else next(each for each in found.values() if isinstance(each, KafkaDrError))
    except KafkaDrError as error:
        return error
