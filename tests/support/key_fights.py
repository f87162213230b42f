"""Sites that fight over keys, with a log of what happened that knows nothing of the rules.

Time is cut into minutes. In one minute replication works, and at its end the readers of each site are seen to have read
everything but the newest records. In the next one nothing is copied, and near its end an audit sees that. In a third
one an audit sees it of one direction alone; then a minute without anything that was seen. Stories put the records of a
key into such minutes, and say at once what has to be found of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kafka_dr.conflicts.arrivals import ArrivalMarks, ArrivalStretch, OffsetMark, stretches
from kafka_dr.conflicts.rules import SiteRecord

START_MS = 1_790_000_000_000
MINUTE = 60_000
#: In the minutes without copies: when the audit looks.
AUDIT = 50_000
#: What was written so shortly before the readers are looked at is not read yet.
DELAY = 3_000
SKEW = 200
MINUTES = ("calm", "apart", "half", "dark")
SITES = ("east", "west", "north")


@dataclass(slots=True)
class Fought:
    """A record of a story, before it has an offset."""

    origin: int
    partition: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    offset: int = -1
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def at(self) -> tuple[int, int, int]:
        return self.origin, self.partition, self.offset


@dataclass(frozen=True, slots=True)
class Awaited:
    """What has to be found of two records."""

    earlier: Fought
    later: Fought
    certainty: str

    @property
    def row(self) -> tuple[tuple[int, int, int], tuple[int, int, int], str]:
        return self.earlier.at, self.later.at, self.certainty


@dataclass(slots=True)
class KeyFights:
    """What was written, what was seen, and what has to be found."""

    sites: int
    records: list[Fought] = field(default_factory=list)
    awaited: list[Awaited] = field(default_factory=list)
    differs: set[tuple[bytes, frozenset[int]]] = field(default_factory=set)
    marks: dict[tuple[int, int], list[ArrivalMarks]] = field(default_factory=dict)
    #: What is wrong with single records, and the name that belongs to it.
    strays: list[tuple[Fought, str, str | None]] = field(default_factory=list)

    @property
    def expected(self) -> set[tuple[tuple[int, int, int], tuple[int, int, int], str]]:
        """What has to be found, and nothing else."""
        return {each.row for each in self.awaited if each.certainty != "ordered"}

    @property
    def within_skew(self) -> float:
        """The part of the conflicts whose times are closer than the clocks agree."""
        met = [each for each in self.awaited if each.certainty != "ordered"]
        return sum(each.later.time_ms - each.earlier.time_ms <= SKEW for each in met) / len(met)

    def stretches(self) -> dict[tuple[int, int], list[ArrivalStretch]]:
        """What is known of each partition of each origin."""
        return {at: stretches(marks) for at, marks in self.marks.items()}

    def by_key(self) -> Mapping[bytes, list[SiteRecord]]:
        """Return the records of each key, as the rules take them."""
        known = self.stretches()
        found: dict[bytes, list[SiteRecord]] = {}
        for each in self.records:
            if each.key is not None:
                found.setdefault(each.key, []).append(_as_site_record(each, known[each.origin, each.partition]))
        return found


def _as_site_record(of: Fought, known: list[ArrivalStretch]) -> SiteRecord:
    at = next(s for s in known if s.first <= of.offset and (s.after is None or of.offset < s.after))
    absent, read = ({n: ms for n, ms in enumerate(each) if ms is not None} for each in (at.not_before, at.read_by))
    value = None if of.value is None else int.from_bytes(of.value[-6:])
    return SiteRecord(of.origin, of.partition, of.offset, of.time_ms, value, absent, read)


def fights(seed: int, *, sites: int, stories: int, partitions: int = 3, noise: int = 0, strays: int = 0) -> KeyFights:
    """Return stories, each about a key of its own, and records that meet nothing.

    :param strays: how many of these have something wrong with themselves, or nearly so
    """
    made = _Made(random.Random(seed), sites, partitions)  # noqa: S311 - a test repeats what it saw
    for number in range(stories):
        made.tell(number)
    made.noise(noise)
    made.stray(strays)
    return made.finish()


TAGS: tuple[tuple[str, bytes | None], ...] = (("origin-timestamp", b"1"), ("origin-producer", b"p"))
_OWN, _OTHER, _DC = ("owner", b"%(own)s"), ("owner", b"%(other)s"), ("origin-dc", b"%(own)s")
#: Headers of a record, what is wrong with it, and the name that belongs to that: of another member, or this one.
STRAYED: tuple[tuple[tuple[tuple[str, bytes | None], ...], str, str | None], ...] = (
    ((_OWN, _DC, *TAGS), "", None),
    ((_OTHER, _DC, *TAGS), "not_owner", "other"),
    # The last one counts.
    ((_OTHER, _OWN, _DC, *TAGS), "", None),
    ((_OWN, ("other", b"x"), _OTHER, _DC, *TAGS), "not_owner", "other"),
    ((_OWN, ("owner", None), _DC, *TAGS), "no_owner", None),
    ((("Owner", b"%(own)s"), _DC, *TAGS), "no_owner", None),
    ((("owner", b"%(own)s "), _DC, *TAGS), "no_owner", None),
    ((("owner", b"\xff"), _DC, *TAGS), "no_owner", None),
    ((_DC, *TAGS), "no_owner", None),
    ((_OWN, *TAGS), "origin_missing", "origin-dc"),
    ((_OWN, ("origin-dc", b""), *TAGS), "origin_missing", "origin-dc"),
    ((_OWN, ("Origin-dc", b"%(own)s"), *TAGS), "origin_missing", "origin-dc"),
    ((_OWN, _DC, TAGS[0]), "origin_missing", "origin-producer"),
    ((_OWN, _DC, TAGS[1], ("origin-timestamp", None)), "origin_missing", "origin-timestamp"),
    ((_OWN, ("origin-dc", b"nowhere"), *TAGS), "origin_wrong", "nowhere"),
    ((_OWN, ("origin-dc", b"%(other)s"), *TAGS), "origin_wrong", "other"),
    ((_OWN, ("origin-dc", b"%(other)s"), *TAGS), "origin_wrong", "returned"),
    ((_OWN, ("origin-dc", b"%(other)s"), *TAGS), "came_back", "returned"),
    ((_OWN, ("origin-dc", b"%(other)s"), _DC, *TAGS), "", None),
    ((_OWN, _DC, ("__mskmr", b"\x00"), *TAGS), "came_back", "__mskmr"),
    ((_OWN, _DC, ("__mskm", b"\x00"), *TAGS), "", None),
)


class _Made:
    def __init__(self, chance: random.Random, sites: int, partitions: int) -> None:
        self.chance, self.sites, self.partitions = chance, sites, partitions
        self.world = KeyFights(sites)
        self.minutes = 40
        self.kinds: list[Callable[[bytes], None]] = [
            self.apart, self.apart_too_late, self.half, self.half_too_close, self.same_minute, self.next_minute,
            self.just_read, self.just_not_read, self.never_read, self.burst, self.dark, self.all_at_once,
        ]  # fmt: skip

    def tell(self, number: int) -> None:
        self.kinds[number % len(self.kinds)](b"key-%d" % number)

    def minute(self, kind: str) -> int:
        """Return when a minute of that kind begins; the two after it are seen, too."""
        return START_MS + MINUTE * (4 * self.chance.randrange(self.minutes // 4 - 2) + MINUTES.index(kind))

    def pair(self) -> list[int]:
        return self.chance.sample(range(self.sites), 2)

    def write(self, key: bytes, origin: int, time_ms: int, *, partition: int | None = None) -> Fought:
        usual = key[-1] % self.partitions
        value = self.chance.choice((b"same", b"%d" % self.chance.randrange(9), None))
        written = Fought(origin, usual if partition is None else partition, time_ms, key, value)
        self.world.records.append(written)
        return written

    def meet(self, one: Fought, other: Fought, certainty: str) -> None:
        earlier, later = sorted((one, other), key=lambda each: (each.time_ms, each.origin))
        self.world.awaited.append(Awaited(earlier, later, certainty))
        if one.partition != other.partition and one.key is not None:
            self.world.differs.add((one.key, frozenset((one.origin, other.origin))))

    def near(self) -> int:
        """Return how far two records are apart: half of them as close as clocks differ, or exactly so far."""
        return self.chance.choice((0, 1, SKEW - 1, SKEW, SKEW + 1, self.chance.randrange(SKEW), 5_000, 15_000))

    def two(self, key: bytes, at: int, apart: int, certainty: str, *, differs: bool = False) -> None:
        a, b = self.pair()
        other = (key[-1] + 1) % self.partitions if differs else None
        self.meet(self.write(key, a, at), self.write(key, b, at + apart, partition=other), certainty)

    def apart(self, key: bytes) -> None:
        last = AUDIT - SKEW - 1
        apart = self.near()
        begin = self.chance.choice((last - apart, self.chance.randrange(last - apart)))
        self.two(key, self.minute("apart") + begin, apart, "certain", differs=self.chance.random() < 0.3)

    def apart_too_late(self, key: bytes) -> None:
        """The later one is written when the audit may already have looked."""
        apart = min(self.near(), SKEW)
        self.two(key, self.minute("apart") + AUDIT - SKEW - apart, apart, "possible")

    def half(self, key: bytes) -> None:
        """Only of the first site it was seen that nothing arrived; the other wrote clearly later."""
        at = self.minute("half") + self.chance.randrange(1_000, 30_000)
        apart = self.chance.choice((SKEW + 1, 4_000, 15_000))
        b = self.chance.randrange(1, self.sites)
        self.meet(self.write(key, 0, at), self.write(key, b, at + apart), "certain")

    def half_too_close(self, key: bytes) -> None:
        at = self.minute("half") + self.chance.randrange(1_000, 30_000)
        apart = self.chance.choice((0, 1, SKEW, SKEW // 2))
        b = self.chance.randrange(1, self.sites)
        self.meet(self.write(key, 0, at), self.write(key, b, at + apart), "possible")

    def same_minute(self, key: bytes) -> None:
        self.two(key, self.minute("calm") + self.chance.randrange(10_000, 30_000), self.near(), "possible")

    def dark(self, key: bytes) -> None:
        self.two(key, self.minute("dark") + self.chance.randrange(10_000, 30_000), self.near(), "possible")

    def next_minute(self, key: bytes) -> None:
        """Same key apart, read in between."""
        at, apart = self.minute("calm") + self.chance.randrange(50_000), MINUTE + self.chance.randrange(20_000)
        self.two(key, at, apart, "ordered", differs=self.chance.random() < 0.3)

    def just_read(self, key: bytes) -> None:
        end = self.minute("calm") + MINUTE
        at = self.chance.choice((end - DELAY - 1, end - 20_000))
        self.two(key, at, end + SKEW - at, "ordered")

    def just_not_read(self, key: bytes) -> None:
        """Written in the last second in which it may not have been read yet."""
        end = self.minute("calm") + MINUTE
        self.two(key, end - 20_000, 20_000 + SKEW - 1, "possible")

    def never_read(self, key: bytes) -> None:
        """Too new when the readers were looked at. The audit of the next minute comes before the later one is old."""
        end = self.minute("calm") + MINUTE
        self.two(key, end - DELAY, DELAY + AUDIT, "possible")

    def burst(self, key: bytes) -> None:
        """One site writes often, and only its last record before that of the other one counts, and the next one."""
        a, b = self.pair()
        at = self.minute("apart") + 1_000
        many = [self.write(key, a, at + 10 * n) for n in range(self.chance.randrange(2, 30))]
        elsewhere = (key[-1] + 1) % self.partitions if self.chance.random() < 0.3 else None
        other = self.write(key, b, many[-1].time_ms + self.chance.choice((1, SKEW, 900)), partition=elsewhere)
        after = [self.write(key, a, other.time_ms + self.chance.randrange(1, SKEW) + 5 * n) for n in range(2)]
        self.meet(many[-1], other, "certain")
        for each in after:
            self.meet(other, each, "certain")

    def all_at_once(self, key: bytes) -> None:
        at = self.minute("apart") + self.chance.randrange(30_000)
        # Of some keys each site has another partition.
        own: list[int | None] = [*range(self.sites)] if self.chance.random() < 0.3 else [None] * self.sites
        written = [
            self.write(key, n, at + self.chance.choice((0, n, 7 * n)), partition=own[n]) for n in range(self.sites)
        ]
        for n, one in enumerate(written):
            for other in written[n + 1 :]:
                self.meet(one, other, "certain")

    def noise(self, number: int) -> None:
        """Keys of one site alone, and records without a key."""
        for n in range(number):
            key = None if n % 50 == 0 else b"own-%d" % self.chance.randrange(max(1, number // 5))
            origin = 0 if key is None else sum(key) % self.sites
            at = START_MS + self.chance.randrange(self.minutes * MINUTE)
            partition = self.chance.randrange(self.partitions) if key is None else key[-1] % self.partitions
            self.world.records.append(Fought(origin, partition, at, key, b"noise"))

    def stray(self, number: int) -> None:
        """Give all records headers as they should be, then records of one site alone such as they should not be."""
        for each in self.world.records:
            each.headers = ((("owner", SITES[each.origin].encode())), *TAGS, ("origin-dc", SITES[each.origin].encode()))
        for n in range(number):
            origin = self.chance.randrange(self.sites)
            own, other = SITES[origin], SITES[(origin + 1) % self.sites]
            headers, kind, seen = self.chance.choice(STRAYED)
            names = {b"own": own.encode(), b"other": other.encode()}
            filled = tuple((name, value and value % names) for name, value in headers)
            at = START_MS + 2 * MINUTE + self.chance.randrange((self.minutes - 2) * MINUTE)
            key = None if n % 7 == 0 else b"stray-%d" % n
            value = None if n % 5 == 0 else b"%d" % n
            written = Fought(origin, n % self.partitions, at, key, value, headers=filled)
            self.world.records.append(written)
            if seen == "returned":
                # What has neither key nor value is like every other such record.
                kind = "origin_wrong" if key is None and value is None else kind
                self.original(written, SITES.index(other), kind)
            if kind:
                self.world.strays.append((written, kind, other if seen in {"other", "returned"} else seen))

    def original(self, back: Fought, origin: int, kind: str) -> None:
        """Write what came back, where it was taken first; or, of a near miss, something that is not quite that."""
        headers = (("owner", SITES[origin].encode()), *TAGS, ("origin-dc", SITES[origin].encode()))
        value, at = back.value, back.time_ms - self.chance.choice((0, MINUTE))
        if kind == "origin_wrong":
            value, at = self.chance.choice(((b"not the same", at), (value, back.time_ms + 1)))
        original = Fought(origin, back.partition, at, back.key, value, headers=headers)
        self.world.records.append(original)

    def finish(self) -> KeyFights:
        logs = {(o, p): [] for o in range(self.sites) for p in range(self.partitions)}  # type: ignore[var-annotated]
        # Records of one time stay in the order in which they were written.
        for each in sorted(self.world.records, key=lambda each: each.time_ms):
            logs[each.origin, each.partition].append(each)
        for (origin, partition), log in logs.items():
            for offset, each in enumerate(log):
                each.offset = offset
            times = [each.time_ms for each in log]
            self.world.marks[origin, partition] = [
                ArrivalMarks() if site == origin else self._seen(origin, times) for site in range(self.sites)
            ]
        return self.world

    def _seen(self, origin: int, times: list[int]) -> ArrivalMarks:
        absent, read = [], []
        for minute, kind in self._minutes():
            if kind == "apart" or (kind == "half" and origin == 0):
                absent.append(OffsetMark(sum(t < minute for t in times), minute + AUDIT))
            if kind == "calm":
                end = minute + MINUTE
                read.append(OffsetMark(sum(t < end - DELAY for t in times), end))
        return ArrivalMarks(tuple(absent), tuple(read))

    def _minutes(self) -> Iterator[tuple[int, str]]:
        for number in range(self.minutes):
            yield START_MS + number * MINUTE, MINUTES[number % 4]
