"""A small healthy switch from east to west, and hands to break it with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lab.invariants.model import ActivePeriod, Commit, Delivery, LogRecord, Observation, Partition, RecordId, Write

PARTITIONS = (Partition("orders.payments", 0), Partition("orders.payments", 1))
PERIODS = (ActivePeriod("east", since=0.0), ActivePeriod("west", since=100.0))
SWITCH_AT = 20  # records before the switch
RECORDS = 30
GROUP = "orders-head"


def number(sequence: int) -> RecordId:
    return RecordId("payments", sequence)


def place(sequence: int) -> Partition:
    return PARTITIONS[sequence % 2]


def offset(cluster: str, sequence: int) -> int:
    """West's log holds a transaction marker after every other record, so offsets differ between the clusters."""
    index = sequence // 2
    return index if cluster == "east" else index + index // 2


def at(sequence: int) -> float:
    return float(sequence) if sequence < SWITCH_AT else 100.0 + sequence


def side(sequence: int) -> str:
    return "east" if sequence < SWITCH_AT else "west"


def write(sequence: int) -> Write:
    cluster = side(sequence)
    return Write(number(sequence), place(sequence), offset(cluster, sequence), cluster, at(sequence))


def delivery(sequence: int, *, group: str = GROUP, cluster: str | None = None, time: float | None = None) -> Delivery:
    where = cluster or side(sequence)
    moment = at(sequence) + 0.5 if time is None else time
    return Delivery(group, number(sequence), place(sequence), offset(where, sequence), where, moment)


def commit(sequence: int, *, group: str = GROUP, cluster: str | None = None, time: float | None = None) -> Commit:
    """The position after the record."""
    where = cluster or side(sequence)
    moment = at(sequence) + 0.6 if time is None else time
    return Commit(group, place(sequence), offset(where, sequence) + 1, where, moment)


def log(cluster: str, sequences: Iterable[int]) -> dict[Partition, tuple[LogRecord, ...]]:
    ordered = sorted(sequences)
    return {
        partition: tuple(LogRecord(offset(cluster, each), number(each)) for each in ordered if place(each) == partition)
        for partition in PARTITIONS
    }


def healthy() -> Observation:
    everything = range(RECORDS)
    moved = [commit(sequence, cluster="west", time=99.0) for sequence in (SWITCH_AT - 2, SWITCH_AT - 1)]
    return Observation(
        writes=[write(each) for each in everything],
        deliveries=[delivery(each) for each in everything],
        commits=[*(commit(each) for each in everything), *moved],
        logs={"east": log("east", range(SWITCH_AT)), "west": log("west", everything)},
        groups=(GROUP,),
    )


def with_log(world: Observation, cluster: str, partition: Partition, held: Iterable[LogRecord]) -> Observation:
    return replace(world, logs={**world.logs, cluster: {**world.logs[cluster], partition: tuple(held)}})
