"""Writes what is fetched to a target that refuses all others: as the operator, which is given that right meanwhile.

Applications, the probe and the replicator are denied there. The right is given for the topics of the fetch alone, and
taken back after it; the next step that runs there takes back one that a process left when it died.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from kafka_dr.clusters import Acl, OffsetRange, Record, TopicPartition
from kafka_dr.clusters.batches import Codec
from kafka_dr.clusters.errors import WriterFenced
from kafka_dr.clusters.model import AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import KafkaDrError, OutcomeUnknown, TryAgain
from kafka_dr.failover.unplanned import last_known
from kafka_dr.fencing.change import AclChanges
from kafka_dr.group_offsets.transfers import PositionTransfer
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.replication.copy_settings import DEFAULT_CODEC, CopySettings, read_copy_settings, read_limits
from kafka_dr.rescue.fetch_ledger import (
    LEDGER,
    LEDGER_CONFIG,
    LEDGER_TOPIC,
    FetchEntry,
    LedgerName,
    read_ledger,
    transactional_id,
)
from kafka_dr.rescue.fetching import Fetch, WantedPart
from kafka_dr.runs.register_guard import LastingPermission
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until

Offsets = Mapping[TopicPartition, int]
Wanted = Mapping[TopicPartition, WantedPart]
#: Why something may be left, by partition.
Why = dict[TopicPartition, str]
#: How long the right to write may take to be in force, in seconds.
_RIGHT_SECONDS = 5.0
#: How long nothing may arrive of a donor, in seconds.
_STALL_SECONDS = 5.0
#: How often a fetch is begun again after an answer that did not come.
_TRIES = 5


def ledger_name(run: Run, standby: str = "") -> LedgerName:
    """Return which entries are about a standby's copy of the lost cluster, since its flow was seeded last.

    :param standby: which one; empty: the target
    """
    return LedgerName(run.group.name, run.source, last_known.flow_start(run, standby).epoch)


def ledger_of(run: Run, standby: str = "") -> dict[TopicPartition, FetchEntry]:
    """Return what is fetched to a standby already. Who asks has taken over the transactional id there.

    :param standby: which one; empty: the target
    """
    return read_ledger(run.operator(standby or run.target), ledger_name(run, standby), run.clock)


def named_on(run: Run, standby: str) -> PositionTransfer:
    """Return what a standby calls its copies of the lost cluster's topics."""
    return PositionTransfer(run.source, on_target=run.group.naming(run.source, standby))


def copies_of_lost(run: Run, standby: str) -> dict[TopicPartition, int]:
    """Return a standby's copies of the lost cluster's topics by their own names, now, each with what leads it."""
    led = run.written_by_flows(standby)
    return {p: led[p] for p in led if named_on(run, standby).of_target({p: 0}, run.group.owns_topic)}


def fetch_until(run: Run, wanted: Wanted, deadline: float) -> Why:
    """Fetch what is wanted until a moment of the monotonic clock; return why something may be left.

    :raises Refused: the register does not permit it any more
    """
    try:
        with right_to_write(run, wanted):
            return _until_answered(run, wanted, deadline)
    except (TryAgain, OutcomeUnknown) as error:
        return {p: str(error) for p in wanted}


def right_of(run: Run, topics: Collection[str]) -> frozenset[Acl]:
    """Return the right to write to these topics."""
    who, name = run.group.operator_principal, PatternType.LITERAL
    return frozenset(
        Acl(ResourceType.TOPIC, topic, name, who, AclOperation.WRITE, AclPermission.ALLOW) for topic in topics
    )


def take_right_back(run: Run, changes: AclChanges, cluster: str) -> None:
    """Remove the right to write to the group's topics on a cluster, if this project gave it."""
    changes.lift(right_of(run, {p.topic for p in copies_of_lost(run, cluster)}))


def right_is_gone(run: Run) -> Check:
    """Return whether no right is left that this project gave."""
    added = run.clients.register(run.target).added_acls(run.group.name, run.target).current
    topics = {p.topic for p in copies_of_lost(run, run.target)}
    left = right_of(run, topics) & run.rules_in_force(run.target) & added
    said = f"{len(left)} rights of {run.group.operator_principal} to write are left on {run.target}"
    return Check.that("right_to_write_is_gone", not left, f"{said}: run the step again" if left else said)


@contextmanager
def right_to_write(run: Run, wanted: Collection[TopicPartition]) -> Iterator[None]:
    """Let the operator write to the target's copies of these partitions.

    :raises TryAgain: it may not
    """
    copies = list(map(named_on(run, run.target).at_target, wanted))
    changes = run.acl_changes(run.target, run.guard(Phase.SWITCHING))
    try:
        if run.decides_by_acls(run.target) and run.access_rules(run.target).is_direct:
            changes.add(right_of(run, {p.topic for p in copies}))
        ask = partial(run.operator(run.target).write_permission.ask, copies)
        answers = wait_until(
            ask,
            lambda found: all(answer.verdict != "refused" for answer in found),
            clock=run.clock,
            seconds=_RIGHT_SECONDS,
        )
        if refused := [str(answer.partition) for answer in answers if answer.verdict == "refused"]:
            raise TryAgain(f"{run.group.operator_principal} may not write to {refused[0]} on {run.target}")
        yield
    finally:
        take_right_back(run, changes, run.target)


def _until_answered(run: Run, wanted: Wanted, deadline: float) -> Why:
    """Fetch, and begin again after an answer that did not come: the ledger says where."""
    why: Why = {}
    for _ in range(_TRIES):
        try:
            return _as_only_writer(run, wanted, deadline)
        except (OutcomeUnknown, TryAgain, WriterFenced) as error:
            why = {p: str(error) for p in wanted}
            run.guard(Phase.SWITCHING).require()
            if run.clock.monotonic() >= deadline:
                break
    return why


def _as_only_writer(run: Run, wanted: Wanted, deadline: float) -> Why:
    """Take over the transactional id, read the ledger, and fetch what it does not have."""
    target, clock, names = run.operator(run.target), run.clock, named_on(run, run.target)
    limits = read_limits(target, {names.at_target(p).topic for p in wanted})
    copies = max(1, min(run.group.flow.replication_factor, len(target.topics.identity().brokers)))
    target.topics.create(LEDGER_TOPIC, partitions=1, replication_factor=copies, config=LEDGER_CONFIG)
    # Asked only after the id was taken over, as another process that has the run by then takes it over, too.
    permission = LastingPermission(run.guard(Phase.SWITCHING), clock)
    with target.writing.transactions(
        transactional_id(run.group.name),
        largest=CopySettings.of(limits).most_record_bytes,
        batch_bytes=min(limits.values()),
        codec=_codec(run, wanted),
    ) as writer:
        ledger = ledger_of(run)

        def write(records: Sequence[Record], entries: Mapping[TopicPartition, FetchEntry]) -> Offsets:
            permission.require()
            again = (_again(each, names.at_target(each.topic_partition)) for each in records)
            ends = writer.write([*again, *_lines(ledger_name(run), entries)])
            _show(run, entries)
            return names.of_target(ends, run.group.owns_topic)

        def read(donor: str, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Record]:
            stall = min(_STALL_SECONDS, max(1.0, deadline - clock.monotonic()))
            return run.copies_by(replace(run.flow, target=donor), "audit").log.read(ranges, stall_seconds=stall)

        parts = {p: each.continued(ledger.get(p)) for p, each in wanted.items()}
        fetch = Fetch(parts, read=read, write=write, in_time=lambda: clock.monotonic() < deadline)
        fetch.run()
        return fetch.left


def _again(record: Record, copy: TopicPartition) -> NewRecord:
    return NewRecord(copy, record.key, record.value, record.headers, record.timestamp_ms)


def _lines(name: LedgerName, entries: Mapping[TopicPartition, FetchEntry]) -> Iterator[NewRecord]:
    for p, entry in entries.items():
        yield NewRecord(LEDGER, name.key(p), entry.encoded())


def _show(run: Run, entries: Mapping[TopicPartition, FetchEntry]) -> None:
    for p, entry in list(entries.items())[-1:]:
        said = f"{entry.records} records of {p} are fetched from {entry.donor}"
        run.clients.shown.says(run.group.name, run.request.run, said)


def _codec(run: Run, wanted: Wanted) -> Codec:
    """Return how most of what is fetched is compressed on its donor."""
    donor = min(each.entry.donor for each in wanted.values())
    topics = {named_on(run, donor).at_target(p).topic for p in wanted}
    with suppress(KafkaDrError):
        return read_copy_settings(run.operator(donor), topics.__contains__, {}).codec
    return DEFAULT_CODEC
