"""Lets standbys that wait for a flow be copied from the cluster that has become active, from where their copy ends.

A failover moves a group from one cluster to another. A third one was copied from the former, and what it lacks is in
the log of the new one, at other offsets. Its old flow is stopped and fenced first, so its position stays what it is.
Then content says where that position is on the active cluster. The flow begins there, and only if that is exact.

After an unplanned failover nobody can read the log of the former. Both copies hold its records in one order, so how far
each has come in it says which one holds more, and the end of the shorter one is found in the other one by content. A
standby that holds records which the active cluster lacks is never copied to: it is *diverged*. So is one whose former
active cluster was made a copy again by a failback, because its position in that log says nothing any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from kafka_dr import parallel
from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused, TryAgain
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.translate.answers import Translation
from kafka_dr.offsets.translate.by_content import Anchors
from kafka_dr.offsets.translate.flow_start import end_in_longer_copy, starts_of_flow
from kafka_dr.offsets.translate.read_logs import held_by, read_both
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.register import RegisterState
from kafka_dr.register.abandonment import failback_since
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_further, newest, newest_seed, seeds_of_moves
from kafka_dr.register.port import History
from kafka_dr.register.roles import Role
from kafka_dr.register.transitions import copied_again, holds_more
from kafka_dr.replication.flow import Flow
from kafka_dr.rescue.copy_reached import UNVERIFIED, CopyReached
from kafka_dr.rescue.fetch_ledger import Ledger, LedgerName, final_ledger
from kafka_dr.runs.flows_of_standby import flows_of
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.register_guard import RegisterGuard, Unchanged

#: How many partitions a sentence names.
_MOST_NAMED = 3


def is_pending(state: RegisterState, standby: str) -> bool:
    """Return whether a standby waits for a flow: a failover has ended the one that it had."""
    return state.has_several and state.roles.of(standby) is Role.PENDING


def seed_pending(context: GroupContext, state: RegisterState, standby: str) -> FlowSeed:
    """Return where the flow to a pending standby begins; the first time that is found out, and journaled.

    What was copied to it last may be journaled on any cluster that was active since. So every register has to answer,
    but for a cluster that was given up: an older flow of the same direction would copy again what the standby has.

    :raises NeedsFailback: no flow may continue there
    :raises Refused: what the standby holds does not show where
    :raises KafkaDrError: a cluster, or what runs a flow, does not answer
    """
    history = _of_registers(context, state)
    last = newest_seed(history, state, standby)
    if last is None or last.target != standby:
        raise Refused(f"no seed of a flow to {standby} is journaled, so nobody knows what it holds")
    changed = failback_since(history, last.source, last.epoch)
    if last.source == state.active and not changed:
        return last
    guard, old = context.guard_by_all(Unchanged(state)), Flow(state.group, last.source, standby)
    _end(context, state, old, guard)
    if last.source == state.active:
        raise _other_log(last, changed)
    starts = _starts(context, history, state, last)
    seed = FlowSeed(state.epoch, state.active, standby, starts, topic_ids=context.topic_ids(state.active))
    guard.require()
    for cluster in (state.active, *state.standbys):
        if cluster not in context.known_silent:
            register = context.clients.register(cluster)
            register.write_fact(state.group, state.run, fact_of_further(standby), seed.to_json())
    return seed


class NeedsFailback(Refused):
    """No flow may continue on a standby: only a failback makes it a copy again."""


class HoldsMore(NeedsFailback):
    """A standby holds records that the active cluster lacks, or that its flow would copy again."""


def require_nothing_fetched(context: GroupContext, state: RegisterState, standby: str, seed: FlowSeed | None) -> None:
    """Refuse a flow to a standby to which an unplanned failover has fetched records, and which was not opened then.

    Where copies have names of their own, the flow continues after them: see :mod:`kafka_dr.watch.after_fetch`.

    :raises HoldsMore: the flow would copy these records again
    """
    if seed is None or not state.has_several or context.declared.renames_copies:
        return
    context.guard_by_all(Unchanged(state)).require()
    if fetched := _fetched_to(context, standby, seed):
        raise HoldsMore(_holds_fetched(state, standby, sum(entry.records for entry in fetched.values())))


def _fetched_to(context: GroupContext, standby: str, seed: FlowSeed) -> Ledger:
    """Return what failovers that were given up have fetched to a standby since its flow was seeded."""
    name = LedgerName(context.group.name, seed.source, seed.epoch)
    found = final_ledger(context.operator(standby), name, context.clock)
    return {p: entry for p, entry in found.items() if entry.records}


def _holds_fetched(state: RegisterState, standby: str, records: int) -> str:
    return (
        f"{counted(records, 'record')} of another standby were fetched to {standby} by a failover that was given up: a "
        f"flow would copy them again, so {standby} is not copied from {state.active} before a failback"
    )


def _other_log(last: FlowSeed, failback: str) -> NeedsFailback:
    return NeedsFailback(
        f"{last.target} was copied from {last.source} last, and failback {failback} has made {last.source} a copy "
        f"again since, so where the copy on {last.target} ends in its log is not known: make {last.target} a copy "
        "again with dr_failback"
    )


def _of_registers(context: GroupContext, state: RegisterState) -> History:
    """Return what is journaled about a group in any register; a cluster that was given up need not answer.

    :raises KafkaDrError: another one does not answer
    """
    clusters = (state.active, *state.standbys)
    answers = parallel.ask_each(lambda name: context.clients.register(name).history(state.group), clusters)
    silent = {name: answer for name, answer in answers.items() if isinstance(answer, KafkaDrError)}
    for name, error in silent.items():
        if name == state.active or name in state.followers:
            raise error
    # It is not waited for again: what is changed has to follow the registers' answer at once.
    context.known_silent = {**context.known_silent, **silent}
    found: dict[str, dict[str, Any]] = {}
    for history in answers.values():
        if not isinstance(history, KafkaDrError):
            for run, facts in history.items():
                found[run] = {**facts, **found.get(run, {})}
    return found


def now_a_copy(context: GroupContext, state: RegisterState, standby: str) -> RegisterState:
    """Write to the registers that a standby is a copy, after its flow was started, and return that record.

    A failover may go to it from then on, and needs most registers of these clusters. So each other one has to know of
    them: else a run that does not know of this standby could open another one with fewer registers.

    :raises TryAgain: the register of another cluster does not name the same clusters yet
    """
    guard = context.guard_by_all(Unchanged(state))
    guard.require()
    for name in (state.active, *state.followers):
        held = None if name == standby else context.clients.register(name).read(state.group)
        if name != standby and (held is None or held.roles.clusters != state.roles.clusters):
            raise TryAgain(
                f"the register of {name} does not hold the newest record yet, so {standby} is not made a copy: "
                "dr_health copies the record there within a minute"
            )
    guard.require()
    return _written(context, state, copied_again(state, standby))


def now_diverged(context: GroupContext, state: RegisterState, standby: str) -> RegisterState:
    """Write to the registers that a standby holds records which the active cluster lacks, and return that record."""
    context.guard_by_all(Unchanged(state)).require()
    return _written(context, state, holds_more(state, standby))


def _written(context: GroupContext, state: RegisterState, new: RegisterState) -> RegisterState:
    context.clients.register(state.active).compare_and_set(state, new)
    # One that does not answer gets the record from dr_health.
    parallel.ask_each(lambda cluster: context.clients.register(cluster).copy(new), state.standbys)
    return new


def _end(context: GroupContext, state: RegisterState, old: Flow, guard: RegisterGuard) -> None:
    """Stop and fence what copies to a standby: nothing of it may arrive after its position was read."""
    standby, seconds = old.target, context.group.timing.step_deadline_seconds
    for flow in flows_of(state, standby):
        replicator = context.clients.replicator(flow)
        if flow.target == standby and not replicator.status().at_rest:
            guard.require()
            replicator.stop()
            replicator.wait_stopped(seconds)
    context.acl_changes(standby, guard).add(plan.flow_fence(context.group))
    guard.require()
    operator = context.operator(standby)
    operator.transactions.take_over(context.clients.replicator(old).transactional_ids())
    held = open_transactions.wait_until_stable(
        operator, context.partitions(standby), clock=context.clock, deadline_seconds=seconds
    ).held_back
    refused = context.writes_refused(standby, by="replicator")
    if held or not refused.passes:
        why = f"open transactions hold back {min(held)} there" if held else refused.detail
        raise TryAgain(f"what copied to {standby} is not proven to have ended: {why}")


def _starts(
    context: GroupContext, history: History, state: RegisterState, last: FlowSeed
) -> Mapping[TopicPartition, int]:
    """Return where the new flow begins on the active cluster, by partition; none of them is before or after that.

    :param last: the seed of the flow that copied to the standby
    :raises NeedsFailback: no flow may continue there
    :raises Refused: one is not known
    """
    former, standby = last.source, last.target
    moves = seeds_of_moves(history).values()
    # A failback begins a flow in the same direction: what it copies again has other offsets.
    turn = newest(seed for seed in moves if (seed.source, seed.target) == (state.active, former))
    if turn is None or turn.epoch <= last.epoch:
        raise Refused(
            f"{standby} was copied from {former} last, and the group was not moved from there to {state.active}: move "
            f"it to {former}, where the flow to {standby} continues, and then on"
        )
    old = context.clients.replicator(Flow(state.group, former, standby))
    if last.mode == "start" and old.status().state == "absent":
        # The group was moved before dr_flows had made that flow, so all of the new log is lacking.
        _require_empty(context, standby, list(context.partitions(standby)))
        return {}
    where = old.where()
    if where.seed_epoch != last.epoch and not (last.keeps_offsets and where.seed_epoch is None):
        raise NeedsPerson(
            f"the positions of {old.described} are not those of its seed: find out who has changed them. If the group "
            f"was moved on before that flow had begun, nobody has: let {standby} leave the group, empty its topics "
            "there, and add it again"
        )
    if not turn.held and (changed := failback_since(history, former, last.epoch)):
        raise _other_log(last, changed)
    fetched = _fetched_to(context, standby, last)
    if turn.held or fetched:
        # The former cluster may be lost, or may have been copied again since. And where the copy ends to which records
        # were fetched, its flow does not know.
        return _starts_without_former(context, history, state, where.next_to_read, fetched, turn, standby)
    # The turn is a seed of the flow from the new active cluster back to the former one.
    turned = {p: point.reversed for p, point in turn.points.items()}
    partitions = context.partitions(state.active)
    copied = {p: where.next_to_read[p] for p in partitions if p in where.next_to_read}
    _require_empty(context, standby, [p for p in context.partitions(standby) if p not in where.next_to_read])
    compared = [p for p, at in copied.items() if p in turned and at != turned[p].source]
    first, second = (context.clients.cluster(name, "audit") for name in (former, state.active))
    here, there = parallel.at_once(lambda: held_by(first, compared), lambda: held_by(second, compared))
    held = {p: RangePair(here[p], there[p]) for p in compared}
    found = starts_of_flow(copied, turned, held, {}, partial(read_both, first, second))
    return _exact(state, standby, found)


def _exact(
    state: RegisterState, standby: str, found: Mapping[TopicPartition, Translation]
) -> Mapping[TopicPartition, int]:
    unsure = [
        f"{p} at {each.source_offset}: {each.reason}" for p, each in sorted(found.items()) if each.kind != "exact"
    ]
    if unsure:
        raise Refused(
            f"content does not show where the copy on {standby} ends on {state.active}, so it is not copied: "
            f"{'; '.join(first_few(unsure, _MOST_NAMED))}. This is tried again at the next look"
        )
    return {p: each.target_offset for p, each in found.items() if each.target_offset is not None}


def _starts_without_former(
    context: GroupContext,
    history: History,
    state: RegisterState,
    by_flow: Mapping[TopicPartition, int],
    fetched: Ledger,
    turn: FlowSeed,
    standby: str,
) -> Mapping[TopicPartition, int]:
    """Return where the new flow begins, without reading the log of the former active cluster.

    :param by_flow: how far the standby's own flow has come in that log
    :param fetched: what an unplanned failover that was given up has fetched to it; the end of such a partition is
        found by content, or not at all
    :param turn: the seed of the flow back, which names where the log of the new active cluster ended
    :raises HoldsMore: the standby has copied more than the active cluster had when it was opened
    """
    run = next(name for name, facts in history.items() if facts.get(FLOW_SEED) == turn.to_json())
    reached = CopyReached.from_json(history[run].get(UNVERIFIED, {})) if turn.held else CopyReached(turn.on_target)
    was_copied, partitions, ends = reached.copied, context.partitions(state.active), turn.on_source
    copied = {**{p: entry.position for p, entry in fetched.items()}, **by_flow}
    more = {p: at - was_copied[p] for p, at in copied.items() if p in was_copied and at > was_copied[p]}
    if more:
        rows = first_few([f"{n} of {p}" for p, n in sorted(more.items())], _MOST_NAMED)
        raise HoldsMore(
            f"{standby} holds up to {counted(sum(more.values()), 'record')} of {turn.target} that {state.active} lacks "
            f"({', '.join(rows)}): they stay there, and {standby} is not copied from {state.active} before a failback"
        )
    _require_empty(context, standby, [p for p in context.partitions(standby) if p not in copied])
    here, there = (context.clients.cluster(name, "audit") for name in (standby, state.active))
    wanted = [p for p in partitions if p in copied and p in ends]
    even = {p for p in wanted if was_copied.get(p) == copied[p] and p not in fetched}
    shorter = [p for p in wanted if p not in even]
    copies, logs = parallel.at_once(lambda: held_by(here, shorter), lambda: held_by(there, shorter))
    held = {p: RangePair(copies[p], logs[p]) for p in shorter}
    anchors = matched_by_audits(
        context, (standby, state.active), turn.target, {p: [held[p].source.end] for p in shorter}
    )
    found = end_in_longer_copy(held, {p: ends[p] for p in shorter}, anchors, partial(read_both, here, there))
    # Of a partition that was fetched in part, the log of the active cluster had come further than what it is known of.
    same = {p: reached.ends.get(p, ends[p]) for p in even}
    known = {p: Translation(copied[p], at, "exact", 0, "both copies end with one record") for p, at in same.items()}
    lacking = {
        p: Translation(copied[p], None, "unknown", None, f"{state.active} has no such partition of that time")
        for p in copied.keys() - set(wanted)
    }
    for p, entry in fetched.items():
        if p not in found or found[p].kind != "exact":
            raise HoldsMore(_holds_fetched(state, standby, entry.records))
    return _exact(state, standby, {**known, **lacking, **found})


def matched_by_audits(
    context: GroupContext, clusters: tuple[str, str], former: str, wanted: Mapping[TopicPartition, Collection[int]]
) -> Anchors:
    """Return what audits of both copies have matched, each with the original, so that less has to be read.

    It proves nothing: content confirms it.

    :param clusters: the one whose offsets are wanted, and the other one
    """
    if not wanted:
        return {}
    here, there = (context.ids_of_copies(Flow(context.group.name, former, name)) for name in clusters)
    ids = {topic: (here[topic], there[topic]) for topic in here.keys() & there.keys()}
    first, second, other = ((name, context.clients.topology.cluster(name).cluster_id) for name in (*clusters, former))
    maps = MapStore(context.clients.evidence_root, context.group.name, source=first, target=second, others=(other,))
    try:
        return {p: list(found) for p, found in maps.pairs_below(wanted, ids).items()}
    except OSError:
        return {}


def _require_empty(context: GroupContext, standby: str, partitions: list[TopicPartition]) -> None:
    """Refuse if a standby holds records in partitions of which its flow has copied nothing."""
    ends = context.operator(standby).topics.high_watermarks(partitions)
    filled = sorted(str(p) for p, end in ends.items() if end > 0)
    if filled:
        named = ", ".join(first_few(filled, _MOST_NAMED))
        raise Refused(f"{standby} holds records of {named} that its flow has not copied: find out who wrote them")
