"""What the target has to fetch, from which standby, and from where on: decided once all of them are fenced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kafka_dr import parallel
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned.donors import Donor, Donors
from kafka_dr.offsets.translate.flow_start import end_in_longer_copy
from kafka_dr.offsets.translate.read_logs import held_by, read_both
from kafka_dr.offsets.translate.search import RangePair
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.rescue.fetch_ledger import FetchEntry, Ledger
from kafka_dr.rescue.fetching import WantedPart
from kafka_dr.runs.run import Run
from kafka_dr.watch.pending_standbys import matched_by_audits

Held = Mapping[TopicPartition, OffsetRange]
#: Which standby has most of a partition, and how far that has come in the lost cluster's log.
Best = Mapping[TopicPartition, tuple[str, int]]


def with_most(reached: CopyReached, donors: Donors) -> dict[TopicPartition, tuple[str, int]]:
    """Return, by partition, the standby that has come further than the target, and how far. Pure.

    Of several the one that has come furthest; of two such the first.
    """
    found: dict[TopicPartition, tuple[str, int]] = {}
    for name, donor in sorted(donors.items()):
        if isinstance(donor, KafkaDrError):
            continue
        for p, offset in donor.copied.items():
            if offset > found.get(p, ("", reached.copied.get(p, 0)))[1]:
                found[p] = (name, offset)
    return found


def begun(
    best: Best, ledger: Ledger, reached: CopyReached, donors: Mapping[str, Donor], held: Held
) -> dict[TopicPartition, WantedPart]:
    """Return what needs no content to be continued or begun. Pure.

    That is what the ledger knows of, from the same donor; and a partition of which the target never had a record.

    :param held: what the target's log holds
    """
    found = {}
    for p, (name, offset) in best.items():
        log, entry = donors[name].held.get(p), ledger.get(p)
        if log is None or p not in held:
            continue
        if entry is not None and entry.donor == name:
            found[p] = WantedPart(replace(entry, reached=None), log.end, offset)
        elif entry is None and held[p].end == 0:
            first = FetchEntry(name, log.start, reached.copied.get(p, 0), 0).reached_at(log.start, 0)
            found[p] = WantedPart(first, log.end, offset)
    return found


def by_content(
    run: Run, best: Best, ledger: Ledger, reached: CopyReached, donors: Mapping[str, Donor]
) -> dict[TopicPartition, WantedPart]:
    """Return what is begun where the target's copy ends in the donor's log; without an exact answer it is left out.

    :param best: of partitions of which it is known how far the target's copy has come
    """
    found: dict[TopicPartition, WantedPart] = {}
    for name in sorted({name for name, _ in best.values()}):
        mine = [p for p, each in best.items() if each[0] == name]
        here, there = (run.copies_by(replace(run.flow, target=cluster), "audit") for cluster in (run.target, name))
        copies, logs = parallel.at_once(partial(held_by, here, mine), partial(held_by, there, mine))
        held = {p: RangePair(copies[p], logs[p]) for p in mine}
        ends = {p: [each.source.end] for p, each in held.items()}
        anchors = matched_by_audits(run, (run.target, name), run.source, ends)
        until = {p: each.target.end for p, each in held.items()}
        for p, answer in end_in_longer_copy(held, until, anchors, partial(read_both, here, there)).items():
            if answer.kind != "exact" or answer.target_offset is None:
                continue
            begin, end = answer.target_offset, copies[p].end
            first = FetchEntry(name, begin, reached.copied[p], end)
            if (entry := ledger.get(p)) is not None:
                first = replace(entry, donor=name, next_offset=begin, reached=None, steps=())
            first = first.reached_at(begin, end)
            found[p] = WantedPart(first, donors[name].held[p].end, best[p][1])
    return found
