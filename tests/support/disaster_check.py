"""What became of a disaster's records: what was acknowledged to applications, compared with what plain clients read.

No word of the steps counts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import pairwise

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from kafka_dr.register import RegisterState
from support.acknowledged_writes import Ledger
from support.protection import Protection

LOST, KEPT = "east", "west"
#: Offset and value of every record, by topic and partition.
Values = Mapping[tuple[str, int], list[tuple[int, bytes]]]
#: An acknowledgement is learned a moment after its record was taken.
_LEARNED_SECONDS = 1.0


def values(protection: Protection, cluster: str) -> Values:
    """Read every committed record of the payments of a group: offset and value, by topic and partition."""
    consumer = Consumer(
        {
            **protection.lab.client_settings(cluster, "admin"),
            "group.id": f"truth-{protection.name}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        wanted = {(protection.topic, number) for number in range(protection.partitions)}
        consumer.assign([ClientPartition(topic, number, 0) for topic, number in sorted(wanted)])
        found: dict[tuple[str, int], list[tuple[int, bytes]]] = {place: [] for place in wanted}
        deadline = time.monotonic() + 30
        while wanted:
            assert time.monotonic() < deadline, f"{cluster} did not show {wanted} to its end"
            for message in consumer.consume(5000, timeout=0.1):
                place = (message.topic(), message.partition())
                if message.error() is None:
                    found[place].append((message.offset(), message.value()))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    wanted.discard(place)
        return found
    finally:
        consumer.close()


def counted(found: Values) -> Counter[bytes]:
    """Count each value."""
    return Counter(value for log in found.values() for _, value in log)


def missing_or_superfluous(ledger: Ledger, there: Counter[bytes], aside: Collection[bytes]) -> list[str]:
    """Name acknowledged values that are nowhere, or more often in log and list than written, and aborted ones."""
    held = there + Counter(aside)
    wrong = []
    for value, (cluster, _) in ledger.acknowledged.items():
        times, most = held[value], 1 + ledger.attempts[value]
        if not 1 <= times <= most:
            wrong.append(
                f"{value!r}, acknowledged by {cluster}, is in the log or in the list {times} times, at most {most}"
            )
    return wrong + [
        f"{value!r} was aborted, and is in the log or in the list" for value in sorted(ledger.void) if held[value]
    ]


def taken_behind_the_fence(ledger: Ledger, state: RegisterState) -> list[str]:
    """Name what the old cluster acknowledged after it was said to be fenced."""
    fenced = state.at.timestamp() + _LEARNED_SECONDS
    late = [value for value, (cluster, at) in ledger.acknowledged.items() if cluster == LOST and at > fenced]
    return [f"{value!r} was acknowledged by {LOST} after it was fenced" for value in late]


def late_groups(protection: Protection, before: Values, after: Values) -> list[str]:
    """Name every group whose offset on the new cluster is past a record that was not before its offset on the old one.

    :param before: what the old cluster holds
    :param after: what the new cluster holds
    """
    wrong = []
    placed = {cluster: _positions(protection, cluster) for cluster in (LOST, KEPT)}
    for (group, place), position in placed[KEPT].items():
        done = {value for offset, value in before[place] if offset < placed[LOST].get((group, place), 0)}
        skipped = [value for offset, value in after[place] if offset < position and value not in done]
        if skipped:
            wrong.append(f"{group} is at {position} of {place} on {KEPT} and never saw {skipped[:3]}")
    return wrong


def out_of_order(found: Values, name: str) -> list[str]:
    """Name every value of a writer whose first copy comes after a later one of the same key."""
    wrong = []
    for place, log in found.items():
        first = list(dict.fromkeys(value for _, value in log if value.startswith(f"{name}-".encode())))
        numbers = [(int(value.rpartition(b"-")[2]), value[-1:]) for value in first]
        for key in {key for _, key in numbers}:
            own = [number for number, each in numbers if each == key]
            wrong += [
                f"{name}-{after} comes after {before} in {place}" for before, after in pairwise(own) if after < before
            ]
    return wrong


def _positions(protection: Protection, cluster: str) -> dict[tuple[str, tuple[str, int]], int]:
    with protection.cluster(cluster, "admin") as admin:
        names = [name for name in admin.groups.names() if name.startswith(f"{protection.name}-")]
        return {
            (group, (p.topic, p.partition)): offset
            for group, offsets in admin.groups.offsets(names).items()
            for p, offset in offsets.items()
            if p.topic == protection.topic
        }
