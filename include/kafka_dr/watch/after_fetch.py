"""Where the flow of a cluster that was lost continues, after an unplanned failover has fetched a part of its records.

Where copies have names of their own, that flow exists as before, and its position does not know of what was fetched
from another standby: from there it would copy these records again. So it continues where its copy ends by content, in
the log of its source, and only if that is exact. This is journaled as a seed: what was fetched before counts no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.offsets.translate.by_content import Anchors
from kafka_dr.offsets.translate.flow_start import end_in_longer_copy
from kafka_dr.offsets.translate.read_logs import held_by, read_both
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.positions import SeedPoint
from kafka_dr.register.flow_seed import FlowSeed
from kafka_dr.replication.flow import Flow
from kafka_dr.rescue.fetch_ledger import FetchEntry, LedgerName, final_ledger, read_ledger
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few

#: How many partitions a sentence names.
_MOST_NAMED = 3


def seed_after_fetch(
    context: GroupContext, flow: Flow, seed: FlowSeed, *, epoch: int, final: bool = True
) -> FlowSeed | None:
    """Return the seed of a stopped flow, to whose copies something was fetched since its newest seed; else ``None``.

    :param seed: the newest one of that flow
    :param epoch: of the register
    :param final: whether no process may fetch after this; who asks may change the group then
    :raises Refused: content does not show where, or the flow runs
    :raises KafkaDrError: a cluster, or what runs the flow, does not answer
    """
    name, target = LedgerName(context.group.name, flow.source, seed.epoch), context.operator(flow.target)
    ledger = (final_ledger if final else read_ledger)(target, name, context.clock)
    fetched = {p: entry for p, entry in ledger.items() if entry.records}
    if not fetched:
        return None
    replicator = context.clients.replicator(flow)
    if not (status := replicator.status()).at_rest:
        raise Refused(f"{flow.name} is {status}, and records of its source were fetched: dr_health stops it")
    where = replicator.where()
    if where.seed_epoch != seed.epoch and not (seed.keeps_offsets and where.seed_epoch is None):
        raise NeedsPerson(f"the positions of {flow.name} are not those of its seed: find out who has changed them")
    positions = {**where.next_to_read, **_ends(context, flow, fetched)}
    ends = context.copies_by(flow).topics.high_watermarks(context.copied_by(flow))
    return FlowSeed(epoch, flow.source, flow.target, positions, ends, context.topic_ids(flow.source), alone=True)


def _ends(context: GroupContext, flow: Flow, fetched: Mapping[TopicPartition, FetchEntry]) -> dict[TopicPartition, int]:
    """Return where the copies of these partitions end in the log of the flow's source."""
    here, there = context.copies_by(flow, "audit"), context.clients.cluster(flow.source, "audit")
    copies, logs = parallel.at_once(partial(held_by, here, fetched), partial(held_by, there, fetched))
    held = {p: RangePair(copies[p], logs[p]) for p in fetched}
    known: Anchors = {p: [SeedPoint(entry.end, entry.position)] for p, entry in fetched.items()}
    until = {p: each.end for p, each in logs.items()}
    found = end_in_longer_copy(held, until, known, partial(read_both, here, there))
    if unsure := [f"{p}: {each.reason}" for p, each in sorted(found.items()) if each.kind != "exact"]:
        records = counted(sum(entry.records for entry in fetched.values()), "record")
        raise Refused(
            f"{records} of {flow.source} were fetched to {flow.target} from another standby, and content does not show "
            f"where {flow.name} continues after them, so it is not started: {'; '.join(first_few(unsure, _MOST_NAMED))}"
        )
    return {p: each.target_offset for p, each in found.items() if each.target_offset is not None}
