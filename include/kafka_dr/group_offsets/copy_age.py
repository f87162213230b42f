"""The age of the oldest record that is not known to be on the target: above a limit no planned failover begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_dr.audit.finding import Verified
from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.clusters.held_back import END_IT, HeldBackLook
from kafka_dr.durations import duration
from kafka_dr.group_offsets.live_verification import ARRIVAL_SECONDS, NearHead, still_missing
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run

NAME = "copied_in_time"


def copied_in_time(run: Run, near: NearHead) -> Check:
    """Return whether the first record that is not known to be on the target is young enough, in every partition.

    That is the first one after the verified frontier, or the oldest acknowledged one that an open transaction holds
    back.
    """
    return _with_held_back(run, _committed_in_time(run, near.ends, near.verified), near.held)


def _with_held_back(run: Run, committed: Check, held: HeldBackLook) -> Check:
    if not held.sentence:
        return committed
    said = f"{held.sentence}, so it is not on {run.target}"
    if committed.outcome != "ok" or not (held.acknowledged or held.not_read):
        return replace(committed, detail=f"{committed.detail}; {said}")
    limit, age = run.group.thresholds.max_lag_seconds, held.age_seconds(run.clock.now())
    if age is None:
        return Check(NAME, "unknown", f"{said}; for how long is not known: {END_IT}")
    facts, waited = {"seconds": round(age, 3)}, f"{said}, for up to {duration(age)}"
    if age > limit:
        return Check(
            NAME, "failed", f"{waited}; {duration(limit)} are allowed (thresholds.max_lag_seconds): {END_IT}", facts
        )
    return Check(NAME, "ok", f"{waited}, {duration(limit)} are allowed; {committed.detail}", facts)


def _committed_in_time(
    run: Run, ends: Mapping[TopicPartition, int], verified: Mapping[TopicPartition, Verified]
) -> Check:
    """Judge what readers of committed records get.

    The records' own timestamps decide, because the number of records says little about their age. A record that looks
    old may have been written a moment ago with an old timestamp. So the flow is asked again: a record that it copies at
    once did not wait.

    :param ends: the source's ends of a moment ago
    :param verified: the verified frontier of each partition
    """
    unverified = {p: OffsetRange(found.source_offset, ends[p]) for p, found in verified.items() if p in ends}
    waiting = _first_of_each(run, {p: wanted for p, wanted in unverified.items() if len(wanted)})
    if not waiting:
        return Check(NAME, "ok", f"all that could be copied from {run.source} a moment ago is on {run.target}")
    limit, now = run.group.thresholds.max_lag_seconds, run.clock.now().timestamp()
    late = [record for record in waiting if now - record.timestamp_ms / 1000 > limit]
    if late and not (late := _not_passed_soon(run, late)):
        return Check(
            NAME, "ok", f"what looked older than {duration(limit)} by its timestamp had only just been written"
        )
    oldest = min(late or waiting, key=lambda record: record.timestamp_ms)
    if oldest.timestamp_ms <= 0:
        return Check(NAME, "unknown", f"{_named(oldest)} is not known to be on {run.target}, and has no timestamp")
    age = max(0.0, now - oldest.timestamp_ms / 1000)
    said = f"{_named(oldest)} is not known to be on {run.target} and is {duration(age)} old by its timestamp"
    if age <= limit:
        return Check(NAME, "ok", f"{said}, {duration(limit)} are allowed", {"seconds": round(age, 3)})
    asked = (
        f"{duration(limit)} are allowed (thresholds.max_lag_seconds): let the flow catch up, or look at dr_lag_audit"
    )
    return Check(NAME, "failed", f"{said}, {asked}", {"seconds": round(age, 3)})


def _not_passed_soon(run: Run, late: Sequence[Record]) -> list[Record]:
    """Return those that the flow does not copy within the time that copying may take."""
    replicator = run.clients.replicator(run.flow)
    if replicator.status().at_rest:
        return list(late)

    def not_passed() -> list[Record]:
        positions = replicator.positions()
        return [record for record in late if positions.get(record.topic_partition, 0) <= record.offset]

    return still_missing(not_passed, clock=run.clock, seconds=ARRIVAL_SECONDS)


def _first_of_each(run: Run, ranges: Mapping[TopicPartition, OffsetRange]) -> list[Record]:
    """Return the first record of each range; control records and aborted ones use offsets and do not count."""
    first: dict[TopicPartition, Record] = {}
    for record in run.clients.cluster(run.source, "audit").log.read(ranges):
        first.setdefault(record.topic_partition, record)
        if len(first) == len(ranges):
            break
    return list(first.values())


def _named(record: Record) -> str:
    return f"{record.topic_partition} offset {record.offset}"
