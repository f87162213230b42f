"""What comes after it was reported lost, in whatever order and number of audits; no broker, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copy_audit import partition_audit
from copy_audit.arrivals import Arrivals, Payloads
from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import NOTHING, Longs
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import Ancestry
from kafka_dr.audit.corruption import Payload
from kafka_dr.audit.coverage import total
from kafka_dr.audit.difference import UnmatchedRecord
from kafka_dr.audit.finding import FindingKind
from support.faulty_copy import FaultyCopy, Written
from support.topic_audits import OLD, hash_of, log_of, outside

Told = list[tuple[FindingKind, int | None, int | None]]


def made(count: int, *, keys: int) -> list[Written]:
    return [Written(n, Payload(f"k{n % keys}".encode(), f"v{n}".encode(), (), n)) for n in range(count)]


def at(payloads: Sequence[Payload]) -> list[Written]:
    return [Written(offset, payload) for offset, payload in enumerate(payloads)]


class RepeatedAudit:
    """A partition that is audited again and again; the flow copies what it likes."""

    def __init__(self, source: list[Written]) -> None:
        self.source = source
        self.target: list[Written] = []
        self.before: PartitionOutcome | None = None

    def copy(self, *payloads: Payload) -> None:
        self.target = at([*(each.payload for each in self.target), *payloads])

    def audit(self) -> PartitionOutcome:
        known = outside(FaultyCopy({0: self.source}, {0: self.target}))
        here, there = (0, 0) if self.before is None else self.before.resume
        logs = PartitionLogs(
            0,
            log_of(self.source).since(here),
            log_of(self.target).since(there),
            ComparedRange(here, len(self.source)),
            ComparedRange(there, len(self.target)),
            first=self.before is None,
            missing=NOTHING if self.before is None else self.before.missing,
        )
        asked = AuditLookups(known.payloads, self._ancestors, keys=self._keys)
        (self.before,) = audit_topic([logs], compacted=False, young_from=OLD, lookups=asked)
        return self.before

    def told(self) -> Told:
        return sorted((d.kind, d.source_offset, d.target_offset) for d in self.audit().settled)

    def _ancestors(self, hashes: Longs) -> Ancestry:
        offsets = {hash_of(each.payload): each.offset for each in self.source}
        found = np.array([offsets.get(each, -1) for each in hashes.tolist()], np.int64)
        return Ancestry(np.where(found < 0, -1, 0), found)

    def _keys(self, _partition: int, start: int, end: int) -> Mapping[int, bytes | None]:
        return {each.offset: each.payload.key for each in self.source[start:end]}


def lost_at(source: list[Written], *lost: int) -> RepeatedAudit:
    flow = RepeatedAudit(source)
    flow.copy(*(each.payload for each in source if each.offset not in lost))
    assert sum(d.count for d in flow.audit().settled) == len(lost)
    return flow


def test_what_comes_later_is_late_and_what_comes_once_more_is_a_duplicate() -> None:
    source = made(10, keys=10)
    flow = lost_at(source, 3, 7)
    assert flow.told() == []
    flow.copy(source[7].payload, source[7].payload)
    outcome = flow.audit()
    assert sorted((d.kind, d.target_offset) for d in outcome.settled) == [
        (FindingKind.DUPLICATE, 9),
        (FindingKind.LATE, 8),
    ]
    assert (outcome.came, outcome.missing.offsets.tolist()) == ((7,), [3])
    flow.copy(source[3].payload)
    assert flow.told() == [(FindingKind.LATE, 3, 10)]


@pytest.mark.parametrize(
    ("keys", "order", "overtaken"),
    [
        (10, (3, 7), ()),
        (10, (7, 3), ()),
        (4, (3, 7), ()),
        (4, (7, 3), (3,)),
        (2, (8, 9), ()),
        (2, (9, 8), ()),
        (1, (8, 9), ()),
        (1, (9, 8), (8,)),
        (1, (3, 7), (3, 7)),
    ],
)
def test_what_comes_after_a_newer_record_of_its_key_is_out_of_order(
    keys: int, order: tuple[int, int], overtaken: tuple[int, ...]
) -> None:
    source = made(10, keys=keys)
    flow = lost_at(source, *order)
    flow.copy(*(source[n].payload for n in order))
    told = flow.told()
    assert {at for kind, at, _ in told if kind is FindingKind.REORDERED} == set(overtaken)
    assert {kind for kind, *_ in told} <= {FindingKind.REORDERED, FindingKind.LATE}


def test_a_changed_copy_that_comes_later_is_named_after_what_it_was() -> None:
    source = made(10, keys=10)
    flow = lost_at(source, 3, 7)
    original = source[3].payload
    changed = Payload(original.key, original.value, (("h", b"1"),), original.timestamp)
    flow.copy(Payload(b"alien", b"alien", (), 3), changed)
    outcome = flow.audit()
    assert sorted(
        (d.kind, d.source_offset, d.target_offset) for d in outcome.settled if d.source_offset is not None
    ) == [(FindingKind.CORRUPT_HEADER, 3, 9)]
    assert [(d.kind, d.target_offset) for d in outcome.settled if d.source_offset is None] == [(FindingKind.FOREIGN, 8)]
    assert outcome.missing.offsets.tolist() == [7]


def test_of_many_foreign_records_no_more_become_objects_than_can_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_audit, "MOST_COMPARED", 3)
    seen: list[int] = []
    take = Arrivals.take_changed

    def counting(self: Arrivals, strange: Sequence[UnmatchedRecord], payloads: Payloads) -> list[UnmatchedRecord]:
        seen.append(len(strange))
        return take(self, strange, payloads)

    monkeypatch.setattr(Arrivals, "take_changed", counting)
    source = made(10, keys=10)
    flow = lost_at(source, 3)
    original = source[3].payload
    changed = Payload(original.key, original.value, (("h", b"1"),), original.timestamp)
    aliens = [Payload(b"alien", b"alien %d" % n, (), 10**6 + n) for n in range(8)]
    flow.copy(aliens[0], changed, *aliens[1:])
    outcome = flow.audit()
    assert seen == [3]
    assert [(d.kind, d.target_offset, d.count) for d in outcome.settled] == [
        (FindingKind.FOREIGN, 9, 1),
        (FindingKind.FOREIGN, 11, 7),
        (FindingKind.CORRUPT_HEADER, 10, 1),
    ]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_whatever_comes_in_whatever_audit_is_late_once_and_nothing_is_copied_twice(data: st.DataObject) -> None:
    count = data.draw(st.integers(5, 30))
    source = made(count, keys=count)
    lost = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=count - 1))
    flow = RepeatedAudit(source)
    flow.copy(*(each.payload for each in source if each.offset not in lost))
    covered = [flow.audit().settled_coverage]
    came: list[int] = []
    waiting = data.draw(st.permutations(sorted(lost)))
    while waiting:
        some, waiting = waiting[: data.draw(st.integers(0, 3))], waiting[3:]
        more = made(len(flow.source) + 1, keys=10**6)[-1]
        flow.source = [*flow.source, more]
        flow.copy(*(source[n].payload for n in some), more.payload)
        outcome = flow.audit()
        covered.append(outcome.settled_coverage)
        assert sum(d.count for d in outcome.settled) == len(some)
        assert {d.kind for d in outcome.settled} <= {FindingKind.LATE}
        came += outcome.came
        assert outcome.missing.offsets.tolist() == sorted(lost - set(came))
        assert outcome.frontier == (len(flow.source), len(flow.target))
    assert total(covered).adds_up
    assert total(covered).produced == len(flow.source)
    assert total(covered).verified == len(flow.source) - len(set(lost) - set(came))
