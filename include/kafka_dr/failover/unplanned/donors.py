"""The other standbys of a lost cluster: what copies to them is fenced before anything that they hold is counted.

Their flows may still write what they had read of the lost cluster. So the replicator is denied on each of them, its
transactional ids are taken over, and only then it is read how far the copy has come and where its log ends. Their
flows are asked to stop, and nobody waits for that: ``dr_flows`` does, before it starts another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.failover.planned.fence_source import stable_ends
from kafka_dr.failover.unplanned.fetch_writing import copies_of_lost, ledger_of, named_on, take_right_back
from kafka_dr.fencing import open_transactions, plan
from kafka_dr.named_rows import positions_to_json
from kafka_dr.positions import OffsetRange
from kafka_dr.register import Phase
from kafka_dr.rescue.copy_reached import CopyReached, Offsets
from kafka_dr.rescue.fetch_ledger import Ledger, transactional_id
from kafka_dr.runs.background import BackgroundCall, Silent
from kafka_dr.runs.run import Run

#: How long all of it may take, and how long open transactions get to end, in seconds.
_SECONDS = 10.0
_STABLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Donor:
    """What a standby holds that nothing is copied to any more.

    :param copied: next to copy from the lost cluster, by partition
    :param held: what its log holds
    """

    copied: Mapping[TopicPartition, int]
    held: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what is journaled of it."""
        ends = {p: each.end for p, each in self.held.items()}
        return {"copied": positions_to_json(self.copied), "ends": positions_to_json(ends)}


#: What each other standby holds, or why that is not known.
Donors = Mapping[str, Donor | KafkaDrError]


def begin_fencing(run: Run) -> Callable[[], Donors]:
    """Fence every other standby that holds the copy, in the background.

    :returns: a function that waits for that, for a bounded time
    """
    silent = run.clients.silent_clusters
    others = [name for name in run.record().roles.copies if name != run.target]
    asked = {name: silent.ask(name, f"the fence of {name}", partial(_fenced, run, name)) for name in others}

    def ended() -> Donors:
        found: dict[str, Donor | KafkaDrError] = {}
        for name, question in asked.items():
            found[name] = _within(run, name, question)
        return found

    return ended


def _within(run: Run, name: str, question: BackgroundCall[Donor]) -> Donor | KafkaDrError:
    silent = run.clients.silent_clusters
    try:
        return question.within(_SECONDS if not silent.is_given_up(name) else silent.seconds(name, _SECONDS))
    except KafkaDrError as error:
        if isinstance(error, Silent):
            silent.give_up(name)
        return error


def as_donor(by_flow: Offsets, ledger: Ledger, held: Mapping[TopicPartition, OffsetRange]) -> Donor:
    """Return what a standby holds, of which an earlier failover may have fetched a part. Pure.

    Where only a part of what its donor had was fetched, the end of its log is at no known offset of the lost one: what
    its own flow has copied counts alone.
    """
    reached = CopyReached.of(by_flow, ledger, {p: each.end for p, each in held.items()})
    ends = {p: reached.ends.get(p, each.end) for p, each in held.items()}
    return Donor(reached.copied, {p: OffsetRange(min(each.start, ends[p]), ends[p]) for p, each in held.items()})


def _fenced(run: Run, name: str) -> Donor:
    """Fence the flow to a standby, and read how far it has come.

    :raises KafkaDrError: it does not answer, or is not proven to be fenced
    """
    run.clients.require_declared(name)
    operator, guard = run.operator(name), run.guard(Phase.SWITCHING)
    replicator = run.clients.replicator(run.flow_between(run.source, name))
    guard.require()
    BackgroundCall(f"the request to stop {replicator.flow.name}", replicator.stop)
    changes = run.acl_changes(name, guard)
    changes.add(plan.fence_of_flow(run.group, run.source, name))
    take_right_back(run, changes, name)
    copies, known = copies_of_lost(run, name), named_on(run, name).of_target
    found = open_transactions.touching(operator, {p.topic for p in copies}, owns=lambda _: False)
    guard.require()
    ids = {
        *replicator.transactional_ids(),
        *(each.transactional_id for each in found),
        transactional_id(run.group.name),
    }
    operator.transactions.take_over(ids)
    ends = stable_ends(run, name, copies, seconds=_STABLE_SECONDS)
    refused = run.writes_refused(name, by="replicator", led=copies)
    if not refused.passes:
        raise TryAgain(f"it is not proven that nothing is copied to {name} any more: {refused.detail}")
    copied = {p: offset for p, offset in replicator.committed().items() if run.group.owns_topic(p.topic)}
    starts = operator.topics.log_starts(copies)
    held = known({p: OffsetRange(min(starts[p], end), end) for p, end in ends.items()}, run.group.owns_topic)
    # An earlier failover, which was given up for this one, may have fetched records to it.
    return as_donor(copied, ledger_of(run, name), held)
