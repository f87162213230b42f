"""Judges a report against the truth: each fault found where it is, and nothing else claimed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.demo.observed.spark_audits import SparkAudits
from lab.demo.observed.truth import FaultyRecords, GroupCost, RecordFault, Truth

#: Kinds of the report that mean the same: a record that is not copied yet becomes late after a while.
_SAME_KIND = {"late": RecordFault.NOT_COPIED, "in_flight": RecordFault.NOT_COPIED}
#: Faults that have an exact offset. Of a record and its second copy, either one can be called the second.
_PLACED = (RecordFault.LOST, RecordFault.CHANGED, RecordFault.FOREIGN)
#: What a row of the report says of a partition next to what became of its records.
_ABOUT_THE_PARTITION = frozenset(
    {
        *("topic", "partition", "verdict", "read", "equal", "equal_until", "source_end", "target_end"),
        *("offsets_not_read", "audited_until", "verified"),
    }
)
#: What Spark's checksum audit calls them.
_SPARK_KINDS = {
    "DUPLICATE": RecordFault.SECOND_COPIES,
    "REPLAY": RecordFault.SECOND_COPIES,
    "ABORTED": RecordFault.ABORTED,
    "LOST": RecordFault.LOST,
    "CORRUPT_VALUE": RecordFault.CHANGED,
    "FOREIGN": RecordFault.FOREIGN,
    "LATE": RecordFault.NOT_COPIED,
    "IN_FLIGHT": RecordFault.NOT_COPIED,
}
NAMES = {
    RecordFault.SECOND_COPIES: "second copies",
    RecordFault.ABORTED: "copies of aborted records",
    RecordFault.LOST: "lost records",
    RecordFault.CHANGED: "changed copies",
    RecordFault.FOREIGN: "foreign records",
    RecordFault.NOT_COPIED: "not copied yet",
}
_LOST = (RecordFault.LOST, RecordFault.NOT_COPIED)
_SENTENCE = re.compile(r"you would lose ([\d,]+) records? and deliver ([\d,]+) records? again")
_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class JudgedFault:
    """One row: what was put in, and what the report found of it."""

    fault: str
    put_in: str
    found: str

    @property
    def equal(self) -> bool:
        """Whether the report is right."""
        return self.put_in == self.found


def judge(truth: Truth, report: Mapping[str, Any]) -> tuple[JudgedFault, ...]:
    """Compare a report with the truth.

    :param report: as ``observe --json`` prints it
    """
    claimed = _claimed_records(report)
    rows = [
        JudgedFault(NAMES[fault], _shown(_told(truth, fault)), _shown(claimed.pop(fault, {}))) for fault in RecordFault
    ]
    rows += _settings(truth, report)
    rows += _groups(truth, report)
    rows.append(_sentence(truth, report))
    rows.append(JudgedFault("anything else", _NOTHING, _anything_else(claimed, report)))
    return tuple(rows)


def judge_spark(truth: Truth, audits: SparkAudits) -> tuple[JudgedFault, ...]:
    """Compare what Spark's audits found with the truth."""
    claimed: dict[str, dict[str, int]] = {}
    for row in audits.findings:
        kind = _SPARK_KINDS.get(row["kind"], row["kind"])
        place = _place(kind, row["topic"], row["partition"], row["source_offset"], row["target_offset"])
        _add(claimed, kind, place, row["count"])
    rows = [
        JudgedFault(f"{NAMES[fault]}, by Spark", _shown(_told(truth, fault)), _shown(claimed.pop(fault, {})))
        for fault in RecordFault
    ]
    waiting = audits.lag["replication"]["records"]
    rows.append(JudgedFault("lag, by Spark", f"{truth.count(RecordFault.NOT_COPIED):,}", f"{waiting:,}"))
    others = [f"{kind} {_shown(places)}" for kind, places in sorted(claimed.items())]
    if not audits.checksum["self_test"]["passed"]:
        others.append("the audit did not find its own faults")
    rows.append(JudgedFault("anything else, by Spark", _NOTHING, "; ".join(others) or _NOTHING))
    return tuple(rows)


def _told(truth: Truth, fault: RecordFault) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in truth.records:
        if each.fault is fault:
            place = _place_of(each)
            found[place] = found.get(place, 0) + each.count
    return {place: count for place, count in found.items() if count}


def _place_of(each: FaultyRecords) -> str:
    return _place(each.fault, each.partition.topic, each.partition.partition, each.source_offset, each.target_offset)


def _place(fault: str, topic: str, partition: int, source: int | None, target: int | None) -> str:
    place = f"{topic}-{partition}"
    if fault in _PLACED:
        offsets = {"source": source, "target": target}
        named = ", ".join(f"{name} {offset}" for name, offset in offsets.items() if offset is not None)
        place = f"{place} at {named}"
    return place


def _claimed_records(report: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return what the report claims, by kind and location."""
    claimed: dict[str, dict[str, int]] = {}
    for row in report["partitions"]:
        for key in row.keys() - _ABOUT_THE_PARTITION:
            kind = _SAME_KIND.get(key, key)
            if row[key] and kind not in _PLACED:
                _add(claimed, kind, f"{row['topic']}-{row['partition']}", row[key])
    for row in report["findings"]:
        kind = row["kind"]
        if kind in _PLACED:
            place = _place(kind, row["topic"], row["partition"], row["source_offset"], row["target_offset"])
            _add(claimed, kind, place, row["count"])
    for kind in _PLACED:
        counted, shown = sum(row.get(kind, 0) for row in report["partitions"]), sum(claimed.get(kind, {}).values())
        if counted != shown:
            _add(claimed, kind, "at no offset that is shown", counted - shown)
    return claimed


def _add(claimed: dict[str, dict[str, int]], kind: str, place: str, count: int) -> None:
    places = claimed.setdefault(kind, {})
    places[place] = places.get(place, 0) + count


def _shown(places: Mapping[str, int]) -> str:
    """Return counts by location; two texts are equal only if everything is."""
    if not places:
        return _NOTHING
    named = [f"{place}: {count:,}" for place, count in sorted(places.items())]
    return named[0] if len(named) == 1 else f"{sum(places.values()):,} ({'; '.join(named)})"


def _settings(truth: Truth, report: Mapping[str, Any]) -> list[JudgedFault]:
    told = {(each.topic, each.setting): f"{each.source}, on the copy {each.target}" for each in truth.settings}
    found = {
        (row["topic"], row["setting"]): f"{_value(row['source'])}, on the copy {_value(row['target'])}"
        for row in report["configuration"]
        if row["verdict"] != "note"
    }
    return [
        JudgedFault(f"{key[1]} of {key[0]}", told.get(key, _NOTHING), found.get(key, _NOTHING))
        for key in dict.fromkeys((*told, *found))
    ]


def _value(shown: object) -> str:
    """Return a setting's value without where it comes from, which the report adds in brackets."""
    return str(shown).partition(" (")[0]


def _groups(truth: Truth, report: Mapping[str, Any]) -> list[JudgedFault]:
    told = {each.group: each for each in truth.groups}
    found = {row["group"]: _row_of(row) for row in report["groups"]}
    return [
        JudgedFault(f"group {group}", _cost(told.get(group)), _cost(found.get(group)))
        for group in sorted(told.keys() | found.keys())
    ]


def _row_of(row: Mapping[str, Any]) -> GroupCost | None:
    if row["again"] is None or row["skipped"] is None:
        return None
    return GroupCost(row["group"], row["again"], row["skipped"], row["partitions_without_position"])


def _cost(cost: GroupCost | None) -> str:
    if cost is None:
        return "not known"
    said = f"{cost.again:,} again, {cost.skipped:,} skipped"
    return f"{said}, no position in {cost.without_position}" if cost.without_position else said


def _sentence(truth: Truth, report: Mapping[str, Any]) -> JudgedFault:
    lost, again = truth.count(*_LOST), sum(each.again for each in truth.groups)
    said = _SENTENCE.search(report["sentence"])
    numbers = tuple(int(each.replace(",", "")) for each in said.groups()) if said else None
    return JudgedFault(
        "the one sentence",
        f"{lost:,} lost, {again:,} again",
        f"{numbers[0]:,} lost, {numbers[1]:,} again" if numbers else "no such numbers",
    )


def _anything_else(claimed: Mapping[str, Mapping[str, int]], report: Mapping[str, Any]) -> str:
    said = [f"{kind} {_shown(places)}" for kind, places in sorted(claimed.items())]
    said += report["not_looked_at"]
    said += [f"{row['topic']}-{row['partition']} was left out" for row in report["partitions_left_out"]]
    said += _bad(report["retention"])
    return "; ".join(said) or _NOTHING


def _bad(rows: Iterable[Mapping[str, Any]]) -> Sequence[str]:
    return [f"{row['topic']}: {row['meaning']}" for row in rows if row["verdict"] not in ("ok", "note")]
