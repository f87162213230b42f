"""A copy of a topic with many faults of every kind, next to each other and in the same milliseconds, and the truth.

Keys, values and headers repeat, and only their combination is a record's own. The log of what was done is kept while it
is done. Left out is what nobody could decide, because the logs would look the same after another kind:

- byte-equal twins: which of two equal records was lost, or came again. So no two records of the source are equal.
- a record so changed that it differs from another one of the source in no more than one part, either.
- a record whose time was changed, and that has neither a key nor a value: nothing is left that names it.
- a strange record with the time and the key of a record of the source: it may be that one, changed.
- records that were exchanged with as many others as they are: either may have been moved. So a moved one passes three
  records at least that nothing else happened to, and nothing passes or repeats a stretch twice.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafka_dr.audit.corruption import Payload
from kafka_dr.audit.finding import FindingKind
from support.faulty_copy import FaultyCopy, Known, Written

_PARTS = ("key", "value", "headers", "timestamp")
_CORRUPT = {
    FindingKind.CORRUPT_KEY: "key",
    FindingKind.CORRUPT_VALUE: "value",
    FindingKind.CORRUPT_HEADER: "headers",
    FindingKind.CORRUPT_TIMESTAMP: "timestamp",
}
#: What a displaced or repeated record passes, at least and at most.
_NEAREST, _FARTHEST = 3, 6
_HEADERS = ((), (("h", b"1"),), (("h", b"2"), ("trace", b"\x00\xff")))


@dataclass(slots=True)
class _Partition:
    """One partition while its copy is made.

    :param draft: what comes on the target instead of each record of the source
    :param after: more records on the target, after the record of that number
    :param taken: numbers of records that a fault has happened to
    :param overtaken: numbers of records that another one has passed, or that came again
    :param alike: for each part, how many records of the source have all the others
    :param seen: every record of the topic, on either cluster
    """

    number: int
    source: list[Written]
    draft: list[list[Written]]
    alike: list[Counter[object]]
    seen: set[Payload]
    after: dict[int, list[Written]] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    overtaken: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, number: int, payloads: Sequence[Payload], seen: set[Payload]) -> _Partition:
        source = [Written(offset, payload) for offset, payload in enumerate(payloads)]
        draft = [[Written(0, each.payload, None, each.offset)] for each in source]
        alike = [Counter(_without(payload, part) for payload in payloads) for part in _PARTS]
        return cls(number, source, draft, alike, seen)

    def named_by(self, payload: Payload) -> int:
        """Return how many records of the source differ from it in one part at most."""
        return sum(counter[_without(payload, part)] for counter, part in zip(self.alike, _PARTS, strict=True))

    def copied(self) -> Iterator[Written]:
        for number, written in enumerate(self.draft):
            yield from written
            yield from self.after.get(number, ())


def crowded_copy(
    *, partitions: int, records: int, faults: Sequence[FindingKind], seed: int, per_ms: int, start: int = 0
) -> FaultyCopy:
    """Make a topic and its copy.

    :param records: in each partition
    :param faults: one for each kind, at any offset; what there is no room for is left out
    :param per_ms: records of a partition that were made in the same millisecond
    :param start: milliseconds since the epoch of the first record
    """
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    seen: set[Payload] = set()
    payloads = [[_payload(chance, seen, start + n // per_ms) for n in range(records)] for _ in range(partitions)]
    made = [_Partition.of(number, each, seen) for number, each in enumerate(payloads)]
    for kind in faults:
        for _ in range(50):
            if _make(chance, kind, made, chance.choice(made), chance.randrange(records)):
                break
    target = {
        each.number: [replace(written, offset=offset) for offset, written in enumerate(each.copied())] for each in made
    }
    copy = FaultyCopy({each.number: each.source for each in made}, target)
    copy.truth = sorted(_log(copy))
    return copy


def one_by_one(found: Sequence[Known]) -> list[Known]:
    """Take runs apart. What was repeated in a row, or alone, is the same fault here."""
    single = []
    for known in found:
        kind = FindingKind.DUPLICATE if known.kind is FindingKind.REPLAY else known.kind
        for n in range(known.count):
            here, there = (None if at is None else at + n for at in (known.source_offset, known.target_offset))
            single.append(Known(kind, known.partition, here, there))
    return sorted(single, key=lambda known: (known.partition, str(known)))


def _payload(chance: random.Random, seen: set[Payload], timestamp: int) -> Payload:
    while True:
        key = chance.choice([None, b"hot-1", b"hot-2", b"hot-3", chance.randbytes(6)])
        value = chance.choice([b"same", b"other", chance.randbytes(9), chance.randbytes(9), None if key else b"x"])
        payload = Payload(key, value, chance.choice(_HEADERS), timestamp)
        if payload not in seen:
            seen.add(payload)
            return payload


def _make(chance: random.Random, kind: FindingKind, made: Sequence[_Partition], here: _Partition, number: int) -> bool:
    """Let a fault happen to a record, if nothing has happened to it and the fault can be distinguished from others."""
    if number in here.taken or number in here.overtaken:
        return False
    if kind in _CORRUPT:
        return _change(chance, kind, here, number)
    if kind in (FindingKind.REORDERED, FindingKind.REPLAY):
        return _pass(chance, kind, here, number)
    (written,) = here.draft[number]
    if kind is FindingKind.FOREIGN:
        time = written.payload.timestamp
        strange = Payload(b"alien" + chance.randbytes(5), chance.randbytes(9), chance.choice(_HEADERS), time)
        here.draft[number].append(Written(0, strange, kind))
    elif kind is FindingKind.DUPLICATE:
        here.draft[number].append(replace(written, kind=kind))
    else:
        here.draft[number] = []
    if kind is FindingKind.MOVED:
        there = made[(made.index(here) + 1) % len(made)]
        there.after.setdefault(chance.randrange(len(there.source)), []).append(replace(written, kind=kind))
    here.taken.add(number)
    return True


def _change(chance: random.Random, kind: FindingKind, here: _Partition, number: int) -> bool:
    part, payload = _CORRUPT[kind], here.source[number].payload
    if part == "timestamp" and not payload.key and not payload.value:
        return False
    time = payload.timestamp or 0
    contents: dict[str, Sequence[object]] = {
        "key": (chance.randbytes(7), None, b"hot-1"),
        "value": (chance.randbytes(11), b"", None, b"same"),
        "headers": ((*payload.headers, ("extra", b"")), (), _HEADERS[1]),
        "timestamp": (time + 1, time - 1, time - 86_400_000),
    }
    changed = replace(payload, **{part: chance.choice(contents[part])})  # type: ignore[arg-type]
    # The original shares one set of parts with it; of a second one nobody knew which it is.
    if changed in here.seen or here.named_by(changed) != 1:
        return False
    here.seen.add(changed)
    here.draft[number] = [Written(0, changed, kind, number)]
    here.taken.add(number)
    return True


def _pass(chance: random.Random, kind: FindingKind, here: _Partition, number: int) -> bool:
    """Let a record come after some that follow it, or let some that end with it come again."""
    length = chance.randint(_NEAREST, _FARTHEST)
    passed = range(number, number + length + 1) if kind is FindingKind.REORDERED else range(number - length, number + 1)
    around = set(range(passed.start - _FARTHEST, passed.stop + _FARTHEST))
    if passed.start < 0 or passed.stop > len(here.source) or around & here.overtaken or set(passed) & here.taken:
        return False
    here.overtaken.update(passed)
    here.taken.update(passed)
    if kind is FindingKind.REORDERED:
        (late,) = here.draft[number]
        here.draft[number] = []
        here.draft[passed[-1]].append(replace(late, kind=kind))
    else:
        again = [replace(written, kind=kind) for n in passed for written in here.draft[n]]
        here.draft[number].extend(again)
    return True


def _without(payload: Payload, part: str) -> object:
    return part, *(getattr(payload, name) for name in _PARTS if name != part)


def _log(copy: FaultyCopy) -> Iterator[Known]:
    """Return what was done, a line for each record."""
    arrived = {(p, w.origin) for p, written in copy.target.items() for w in written if w.kind is not FindingKind.MOVED}
    moved = {w.payload: w.offset for written in copy.target.values() for w in written if w.kind is FindingKind.MOVED}
    for partition, written in copy.source.items():
        for record in written:
            if (partition, record.offset) in arrived:
                continue
            there = moved.get(record.payload)
            yield Known(FindingKind.LOST if there is None else FindingKind.MOVED, partition, record.offset, there)
    for partition, written in copy.target.items():
        for record in written:
            if record.kind is not None and record.kind is not FindingKind.MOVED:
                yield Known(record.kind, partition, record.origin, record.offset)
