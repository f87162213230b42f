"""What a conflict audit reports: one sentence, what to do, counts, and the first findings. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from kafka_dr.conflicts.rules import Certainty, ConflictKind, StrayKind
from kafka_dr.counted import counted

ConflictVerdict = Literal["ok", "warning", "findings", "unknown"]

_TO_DO = {
    "certain": "Each was written before its site could have the other's record, and whoever reads both has to decide. "
    "Look at the keys: write each key on one site, or make both orders lead to the same state.",
    "possible": "Whether the writers had seen each other's record is not known: compare the times with the clocks, and "
    "declare the groups that read the copies (union, moves).",
    "partition_differs": "A key is in different partitions on two sites: give the topics as many partitions, and the "
    "producers one partitioner.",
    "strays": "Records that are not of the member that took them: correct which clients write there, or what is "
    "declared of their keys and headers.",
    "unknown": "Audit more often, or keep records longer: the next audits meet what is written from now on.",
}
#: What is wrong with one record, in words.
_WRONG = {
    "not_owner": "written by another member than its owner",
    "no_owner": "owned by no declared member",
    "origin_missing": "without what says its origin",
    "origin_wrong": "with a wrong origin",
    "came_back": "written again from a copy",
}


@dataclass(frozen=True, slots=True)
class ConflictCount:
    """How many findings agree in all that follows."""

    topic: str
    earlier: str
    later: str
    kind: ConflictKind
    certainty: Certainty
    equal: bool
    within_skew: bool
    count: int


@dataclass(frozen=True, slots=True)
class StrayCount:
    """How many records of a member's own log have the same thing wrong with them."""

    topic: str
    origin: str
    kind: StrayKind
    count: int


@dataclass(frozen=True, slots=True)
class OriginRead:
    """What was read of one partition of an origin, and what was not.

    :param first: the first offset that was asked for
    :param end: next after the last one
    :param records: how many were read
    :param expired: offsets that the log had removed before anybody looked
    :param compacted: offsets of a compacted topic that hold no record any more, ends of transactions among them
    :param untimed: records without a time
    :param late: records that are older than what was kept of the other origins
    :param without_key: records that cannot conflict
    """

    origin: str
    topic: str
    partition: int
    first: int
    end: int
    records: int = 0
    expired: int = 0
    compacted: int = 0
    untimed: int = 0
    late: int = 0
    without_key: int = 0

    @property
    def unknown(self) -> int:
        """How many offsets there are of whose conflicts nothing is known."""
        return self.expired + self.compacted + self.untimed + self.late


@dataclass(frozen=True, slots=True)
class ConflictReport:
    """The whole audit.

    :param sites: in the declared order
    :param kept_before: how many records of former audits were met again
    :param strategy: what decides which value of a key counts
    :param shown: the first findings, as they are in the table
    :param strays: how many records are wrong by themselves
    :param shown_strays: the first of them, as they are in the table
    :param keys: the keys with most conflicts: ``topic``, ``key``, ``conflicts``
    :param hours: conflicts of each hour: ``hour``, ``certain``, ``possible``
    :param cautions: a sentence for each thing that is not known of when records arrived or were read
    :param table: the folder with all findings
    """

    block: str
    at: datetime
    full: bool
    sites: tuple[str, ...]
    skew_ms: int
    key_form: str
    counts: tuple[ConflictCount, ...]
    origins: tuple[OriginRead, ...]
    kept_before: int = 0
    strategy: str = "last_write_wins"
    shown: tuple[Mapping[str, Any], ...] = ()
    strays: tuple[StrayCount, ...] = ()
    shown_strays: tuple[Mapping[str, Any], ...] = ()
    keys: tuple[Mapping[str, Any], ...] = ()
    hours: tuple[Mapping[str, Any], ...] = ()
    cautions: tuple[str, ...] = ()
    table: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    def number(self, certainty: Certainty) -> int:
        """Return how many conflicts have that certainty."""
        return sum(each.count for each in self._met if each.certainty == certainty)

    @property
    def _met(self) -> list[ConflictCount]:
        return [each for each in self.counts if each.kind != "partition_differs"]

    @property
    def partition_differs(self) -> int:
        """How many keys are in different partitions on two sites."""
        return sum(each.count for each in self.counts if each.kind == "partition_differs")

    @property
    def stray(self) -> int:
        """How many findings there are about single records."""
        return sum(each.count for each in self.strays)

    @property
    def unknown(self) -> int:
        """How many offsets there are of whose conflicts nothing is known."""
        return sum(each.unknown for each in self.origins)

    @property
    def verdict(self) -> ConflictVerdict:
        """``findings`` if anything is certain; else ``unknown`` if there are offsets of which nothing is known."""
        if self.number("certain") or self.stray:
            return "findings"
        if self.unknown:
            return "unknown"
        return "warning" if self.number("possible") or self.partition_differs else "ok"

    @property
    def sentence(self) -> str:
        """The answer, and what to do."""
        certain, possible, differs = self.number("certain"), self.number("possible"), self.partition_differs
        read = sum(each.records for each in self.origins)
        equal = sum(each.count for each in self._met if each.equal)
        unsafe = sum(each.count for each in self._met if each.within_skew)
        said = (
            f"{counted(certain, 'certain conflict')} and {counted(possible, 'possible one')} between "
            f"{', '.join(self.sites)} in {counted(read, 'new record')}"
        )
        if certain + possible:
            said += f"; of {equal} both values are equal, of {unsafe} the clocks alone may decide who wins"
        if differs:
            said += f"; {counted(differs, 'key is', 'keys are')} in different partitions on two sites"
        if self.stray:
            said += f"; {counted(self.stray, 'finding')} about single records ({self._named_strays})"
        if self.unknown:
            hidden = self._named_unknown
            said += f"; what met {counted(self.unknown, 'offset')} is not known ({hidden})"
        wanted = {"certain": certain, "possible": possible, "partition_differs": differs}
        wanted |= {"strays": self.stray, "unknown": self.unknown}
        return " ".join((f"{said}.", *(_TO_DO[each] for each, number in wanted.items() if number)))

    @property
    def _named_strays(self) -> str:
        sums: Counter[str] = Counter()
        for each in self.strays:
            sums[each.kind] += each.count
        return ", ".join(f"{number} {_WRONG[kind]}" for kind, number in sorted(sums.items()))

    @property
    def _named_unknown(self) -> str:
        names = {
            "expired": "expired before they were read",
            "compacted": "compacted, ends of transactions included",
            "untimed": "without a time",
            "late": "with times before the last audit",
        }
        sums = {name: sum(getattr(each, name) for each in self.origins) for name in names}
        return ", ".join(f"{number} {names[name]}" for name, number in sums.items() if number)

    def to_json(self) -> dict[str, Any]:
        """Return ``report.json``."""
        return {
            "schema_version": 1,
            "block": self.block,
            "at": self.at.astimezone(UTC).isoformat(),
            "full": self.full,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "sites": [*self.sites],
            "skew_ms": self.skew_ms,
            "keys": self.key_form,
            "strategy": self.strategy,
            "certain": self.number("certain"),
            "possible": self.number("possible"),
            "partition_differs": self.partition_differs,
            "stray_records": self.stray,
            "unknown_offsets": self.unknown,
            "records_read": sum(each.records for each in self.origins),
            "kept_before": self.kept_before,
            "findings": [
                {"level": "failed" if each["certainty"] == "certain" else "warning", "sentence": in_words(each)}
                for each in (*self.shown, *self.shown_strays)
            ],
            "conflicts": [dict(each) for each in self.shown],
            "strays": [dict(each) for each in self.shown_strays],
            "stray_counts": [_row(each) for each in self.strays],
            "counts": [_row(each) for each in self.counts],
            "top_keys": [dict(each) for each in self.keys],
            "hours": [dict(each) for each in self.hours],
            "origins": [_row(each) | {"unknown": each.unknown} for each in self.origins],
            "cautions": [*self.cautions],
            "table": self.table,
            "seconds": dict(self.seconds),
        }


def in_words(found: Mapping[str, Any]) -> str:
    """Return a finding, as the table has it, in words."""
    if found["earlier_origin"] is None:
        named = f" ({found['seen']})" if found["seen"] else ""
        return (
            f"{found['later_origin']} {found['topic']}-{found['later_partition']} offset {found['later_offset']}, "
            f"key {found['key'] or 'null'}: {_WRONG[found['kind']]}{named}"
        )
    at = (
        f"{found[f'{which}_origin']} {found['topic']}-{found[f'{which}_partition']} "
        f"offset {found[f'{which}_offset']}{' (deletes)' if found[f'{which}_deletes'] else ''}"
        for which in ("earlier", "later")
    )
    said = f"key {found['key']}: {' and '.join(at)}, {found['margin_ms']} ms apart"
    if found["kind"] == "partition_differs":
        return f"partition differs: {said}"
    unsafe = ", within the clock skew" if found["within_skew"] else ""
    merged = f"merged, differing in {', '.join(found['fields'])}" if found.get("fields") else "merged"
    several = merged if found.get("fields") is not None else "neither wins as it is"
    won = f"{found['winner']} wins" if found["winner"] else several
    same = "equal values" if found["equal"] else f"{won}{unsafe}"
    return f"{found['certainty']} {found['kind'].replace('_', '-')}: {said}, {same}"


def _row(of: ConflictCount | StrayCount | OriginRead) -> dict[str, Any]:
    return {name: getattr(of, name) for name in type(of).__slots__}
