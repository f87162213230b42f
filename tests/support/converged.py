"""Members that hold each other's records, and what they have to be found to agree on: known as it is written."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from support.key_fights import START_MS
from support.resolved import Counting, LastRecord


class LossyLog(NamedTuple):
    """The log of an origin's partition on a member, from which records are gone."""

    member: int
    origin: int
    partition: int


@dataclass(slots=True)
class HeldRecord:
    """A record of an origin, as one member holds it."""

    member: int
    origin: int
    partition: int
    offset: int
    time: int
    key: str
    value: bytes | None

    @property
    def log(self) -> LossyLog:
        return LossyLog(self.member, self.origin, self.partition)


@dataclass(slots=True)
class HeldWorld:
    """What all members hold, and the verdict about each key."""

    members: int
    held: list[HeldRecord] = field(default_factory=list)
    lossy: set[LossyLog] = field(default_factory=set)
    expected: dict[str, str] = field(default_factory=dict)


def judged(world: HeldWorld, strategy: Callable[[Sequence[LastRecord]], Counting]) -> dict[str, str]:
    """Return the verdict about each key, one after the other, in plain Python."""
    found, members = {}, range(world.members)
    for key in {each.key for each in world.held}:
        held = [each for each in world.held if each.key == key]
        origins = sorted({each.origin for each in held})
        last = {(m, o): _last([e for e in held if (e.member, e.origin) == (m, o)]) for m in members for o in origins}
        known = [each for each in last.values() if each is not None]
        unknown = any(
            last[member, each.origin] is None and LossyLog(member, each.origin, each.partition) in world.lossy
            for each in known
            for member in members
        )
        states = {_state([each for each in known if each.member == member], strategy) for member in members}
        found[key] = "unknown" if unknown else "equal" if len(states) == 1 else "differs"
    return found


def _last(records: list[HeldRecord]) -> HeldRecord | None:
    by_partition: dict[int, HeldRecord] = {}
    for each in sorted(records, key=lambda each: each.offset):
        by_partition[each.partition] = each
    return max(by_partition.values(), key=lambda each: (each.time, each.partition), default=None)


def _state(own: list[HeldRecord], strategy: Callable[[Sequence[LastRecord]], Counting]) -> tuple[object, ...]:
    if not own:
        return ()
    counts = strategy([LastRecord(each.origin, each.time, each.value) for each in own])
    if counts.winner is not None:
        (one,) = [each for each in own if each.origin == counts.winner]
        return one.origin, one.time, one.value
    return (counts.content,) if counts.content is not None else tuple((each.origin, each.value) for each in own)


def held_worlds(seed: int, *, members: int, keys: int) -> HeldWorld:
    """Return stories, each about a key of its own, with what has to be found by last write wins.

    Partitions 0 are whole everywhere; of partitions 1 each copy has lost its beginning.
    """
    return _Held(random.Random(seed), members).made(keys)  # noqa: S311 - a test repeats what it saw


class _Held:
    def __init__(self, chance: random.Random, members: int) -> None:
        self.chance, self.world = chance, HeldWorld(members)
        self.world.lossy = {LossyLog(m, o, 1) for m in range(members) for o in range(members) if m != o}
        self.ends: Counter[LossyLog] = Counter()

    def made(self, keys: int) -> HeldWorld:
        stories = list(self.stories())
        for number in range(keys):
            verdict, tell = stories[number % len(stories)]
            key = f"key-{number}"
            tell(key)
            self.world.expected[key] = verdict
        # Records of all keys are mixed in each log, and copies have gaps.
        return self.world

    def stories(self) -> Iterator[tuple[str, Callable[[str], object]]]:
        yield "equal", self.copied
        yield "equal", lambda key: self.spoil(self.copied(key, times=3), old=True, value=b"other")
        yield "equal", lambda key: self.drop(self.copied(key, times=3), old=True)
        yield "equal", lambda key: self.drop(self.copied(key, times=3, partition=1), old=True)
        yield "equal", lambda key: self.loser(key)
        yield "equal", lambda key: self.copied(key, value=None)
        yield "differs", lambda key: self.spoil(self.copied(key), value=b"other")
        yield "differs", lambda key: self.spoil(self.copied(key), value=None)
        yield "differs", lambda key: self.spoil(self.copied(key, value=None), value=b"written")
        yield "differs", lambda key: self.spoil(self.copied(key), later=1)
        yield "differs", lambda key: self.drop(self.copied(key, times=2))
        yield "differs", lambda key: self.drop(self.copied(key))
        yield "differs", lambda key: self.spoil(self.copied(key, partition=1), value=b"other")
        yield "unknown", lambda key: self.drop(self.copied(key, partition=1))

    def write(self, key: str, origin: int, time: int, value: bytes | None, partition: int) -> list[HeldRecord]:
        """Write a record, and its copies to all others."""
        found = []
        for member in range(self.world.members):
            log = LossyLog(member, origin, partition)
            self.ends[log] += self.chance.choice((1, 1, 3))
            found.append(HeldRecord(member, origin, partition, self.ends[log], time, key, value))
        self.world.held += found
        return found

    def copied(
        self, key: str, *, times: int = 1, value: bytes | None = b"value", partition: int = 0
    ) -> list[list[HeldRecord]]:
        """Write a key on one member, and as often on another one before; return the records of the one, in order."""
        origin = self.chance.randrange(self.world.members)
        other = (origin + 1) % self.world.members
        at = START_MS + self.chance.randrange(10_000)
        for n in range(times if self.chance.random() < 0.5 else 0):
            self.write(key, other, at - 100 + n, b"before", 0)
        # Times may run backwards in a log: its order counts.
        return [self.write(key, origin, at + self.chance.choice((n, -n)), value and value + b"%d" % n, partition)
                for n in range(times)]  # fmt: skip

    def loser(self, key: str) -> None:
        """What differs has been overwritten by another member, on each member."""
        overwritten = self.copied(key)
        self.write(key, (overwritten[0][0].origin + 1) % self.world.members, START_MS + 20_000, b"after", 0)
        self.spoil(overwritten, value=b"other")

    def of_copy(self, written: list[list[HeldRecord]], *, old: bool) -> HeldRecord:
        """Return one copy of the newest record, or of an older one."""
        records = written[0 if old else -1]
        return self.chance.choice([each for each in records if each.member != each.origin])

    def spoil(
        self, written: list[list[HeldRecord]], *, old: bool = False, later: int = 0, value: bytes | None = b"value0"
    ) -> None:
        changed = self.of_copy(written, old=old)
        changed.value, changed.time = value, changed.time + later

    def drop(self, written: list[list[HeldRecord]], *, old: bool = False) -> None:
        gone = self.of_copy(written, old=old)
        self.world.held = [each for each in self.world.held if each is not gone]


def shuffled(world: HeldWorld, seed: int) -> HeldWorld:
    """Return the same with its records in another order."""
    held = list(world.held)
    random.Random(seed).shuffle(held)  # noqa: S311 - a test repeats what it saw
    return replace(world, held=held)
