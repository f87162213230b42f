"""A copy of a topic with faults that are known: what an audit has to find, offset for offset."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka_dr.audit.corruption import Payload
from kafka_dr.audit.finding import FindingKind

#: What one record can suffer: everything but IN_FLIGHT and UNVERIFIABLE, which are no faults of the copy.
KINDS = (
    FindingKind.LOST,
    FindingKind.DUPLICATE,
    FindingKind.REPLAY,
    FindingKind.CORRUPT_VALUE,
    FindingKind.CORRUPT_KEY,
    FindingKind.CORRUPT_HEADER,
    FindingKind.CORRUPT_TIMESTAMP,
    FindingKind.REORDERED,
    FindingKind.MOVED,
    FindingKind.FOREIGN,
)
#: Records around a fault that stay whole, so that no two faults meet; a replay reaches this far back at most.
_APART = 8


@dataclass(frozen=True, slots=True, order=True)
class Known:
    """One fault that was made."""

    kind: FindingKind
    partition: int
    source_offset: int | None
    target_offset: int | None
    count: int = 1


@dataclass(slots=True)
class Written:
    """One record of a partition on one cluster, at its offset."""

    offset: int
    payload: Payload
    #: What was done to it, and the record of the source that it is a copy of.
    kind: FindingKind | None = None
    origin: int | None = None


@dataclass(slots=True)
class FaultyCopy:
    """Source and target of a topic, by partition, and the truth about them."""

    source: dict[int, list[Written]] = field(default_factory=dict)
    target: dict[int, list[Written]] = field(default_factory=dict)
    truth: list[Known] = field(default_factory=list)

    @classmethod
    def make(
        cls,
        *,
        partitions: int,
        records: int,
        faults: Sequence[FindingKind],
        seed: int,
        markers: float = 0.0,
        start: int = 0,
    ) -> FaultyCopy:
        """Make a topic and its copy.

        :param records: in each partition
        :param faults: one for each kind, in any partition and at any offset
        :param markers: how often an offset is taken by a transaction marker, on each cluster by itself
        :param start: milliseconds since the epoch of the first record
        """
        chance = random.Random(seed)  # noqa: S311 - nothing secret
        copy = cls()
        for partition in range(partitions):
            payloads = [_payload(chance, partition, number, start) for number in range(records)]
            copy.source[partition] = _placed(chance, [Written(0, p) for p in payloads], markers)
        places = [(p, n) for p in range(partitions) for n in range(_APART, records - 2 * _APART, 2 * _APART)]
        chosen = dict(zip(chance.sample(places, len(faults)), faults, strict=True))
        drafts: dict[int, list[Written]] = {partition: [] for partition in range(partitions)}
        movers: list[tuple[int, Written]] = []
        for partition, records_here in copy.source.items():
            _copy_partition(chance, records_here, partition, chosen, drafts[partition], movers)
        for partition, moved in movers:
            drafts[(partition + 1) % partitions].append(moved)
        copy.target = {partition: _placed(chance, draft, markers) for partition, draft in drafts.items()}
        copy.truth = sorted(_truth(copy))
        return copy


def _payload(chance: random.Random, partition: int, number: int, start: int) -> Payload:
    key = chance.choice([None, b"", f"key-{partition}-{number}".encode()])
    headers = chance.choice([(), (("h", b"1"), ("h", None)), (("trace", chance.randbytes(4)),)])
    value: bytes | None = chance.randbytes(12) + number.to_bytes(4, "big")
    if key:  # something has to name a record, or nobody could know whether it was changed or replaced
        value = chance.choice([value, value, b"", None])
    # No two records are equal, whatever else they lack.
    return Payload(key, value, headers, start + 7 * number + partition)


def _copy_partition(
    chance: random.Random,
    source: Sequence[Written],
    partition: int,
    chosen: dict[tuple[int, int], FindingKind],
    draft: list[Written],
    movers: list[tuple[int, Written]],
) -> None:
    late: dict[int, Written] = {}
    for number, record in enumerate(source):
        kind = chosen.get((partition, number))
        same = Written(0, record.payload, None, record.offset)
        broken = replace(same, kind=kind)
        if kind is None:
            draft.append(same)
        elif kind is FindingKind.DUPLICATE:
            draft += [same, broken]
        elif kind is FindingKind.REPLAY:
            draft.append(same)
            earlier = source[number + 1 - chance.randint(2, _APART) : number + 1]
            draft += [Written(0, each.payload, kind, each.offset) for each in earlier]
        elif kind is FindingKind.FOREIGN:
            strange = replace(record.payload, value=chance.randbytes(20), key=b"alien", headers=())
            draft += [same, Written(0, strange, kind, None)]
        elif kind is FindingKind.REORDERED:
            late[number + chance.randint(2, _APART - 1)] = broken
        elif kind is FindingKind.MOVED:
            movers.append((partition, broken))
        elif kind is not FindingKind.LOST:
            draft.append(replace(broken, payload=_corrupted(chance, record.payload, kind)))
        if number in late:
            draft.append(late.pop(number))


def _corrupted(chance: random.Random, payload: Payload, kind: FindingKind) -> Payload:
    if kind is FindingKind.CORRUPT_VALUE:
        return replace(payload, value=chance.randbytes(16))
    if kind is FindingKind.CORRUPT_KEY:
        return replace(payload, key=chance.randbytes(5))
    if kind is FindingKind.CORRUPT_HEADER:
        return replace(payload, headers=(*payload.headers, ("extra", b"")))
    return replace(payload, timestamp=(payload.timestamp or 0) + 1)


def _placed(chance: random.Random, records: list[Written], markers: float) -> list[Written]:
    offset, placed = 0, []
    for record in records:
        while chance.random() < markers:
            offset += 1
        placed.append(replace(record, offset=offset))
        offset += 1
    return placed


def _truth(copy: FaultyCopy) -> list[Known]:
    arrived = {(p, r.origin) for p, records in copy.target.items() for r in records if r.kind is not FindingKind.MOVED}
    moved = {r.payload: r for records in copy.target.values() for r in records if r.kind is FindingKind.MOVED}
    truth = []
    for partition, records in copy.source.items():
        for record in records:
            if (partition, record.offset) in arrived:
                continue
            there = moved.get(record.payload)
            kind = FindingKind.LOST if there is None else FindingKind.MOVED
            truth.append(Known(kind, partition, record.offset, None if there is None else there.offset))
    for partition, records in copy.target.items():
        before: Written | None = None
        for record in records:
            if record.kind is FindingKind.REPLAY and before is not None and before.kind is FindingKind.REPLAY:
                last = truth[-1]
                truth[-1] = replace(last, count=last.count + 1)
            elif record.kind is not None and record.kind is not FindingKind.MOVED:
                truth.append(Known(record.kind, partition, record.origin, record.offset))
            before = record
    return truth
