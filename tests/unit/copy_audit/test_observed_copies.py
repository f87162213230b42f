"""Copies by a replicator that nobody can ask how far it is: what follows the last copy waits, and is never lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from copy_audit.expired import ComparedRange
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import Ancestry
from kafka_dr.audit.corruption import Payload
from kafka_dr.audit.coverage import total
from kafka_dr.audit.finding import FindingKind
from support.faulty_copy import FaultyCopy, Written
from support.topic_audits import OLD, hash_of, log_of, outside

#: Of a finding: kind, offset on the source, on the target, count.
Found = list[tuple[FindingKind, int | None, int | None, int]]


def records(count: int) -> list[Written]:
    return [Written(n, Payload(b"k%d" % n, b"v%d" % n, (), n)) for n in range(count)]


def at(originals: list[Written]) -> list[Written]:
    return [Written(offset, each.payload) for offset, each in enumerate(originals)]


class ObservedCopy:
    """A partition that is audited again and again.

    :param seen: how many records of the source can be read; an open transaction hides the others
    :param observed: whether nobody can be asked, ever; otherwise the flow is not this project's yet
    """

    def __init__(self, source: list[Written], *, observed: bool = True) -> None:
        self.source, self.target, self.seen, self.observed = source, list[Written](), len(source), observed
        self.outcomes: list[PartitionOutcome] = []

    def copy(self, *offsets: int) -> None:
        self.target = at([*self.target, *(self.source[n] for n in offsets)])

    def audit(self, *, late_before: int = 0) -> PartitionOutcome:
        known = outside(FaultyCopy({0: self.source}, {0: self.target}))
        start = self.outcomes[-1].resume if self.outcomes else (0, 0)
        logs = PartitionLogs(
            0,
            log_of(self.source[: self.seen]).since(start[0]),
            log_of(self.target).since(start[1]),
            ComparedRange(start[0], self.seen),
            ComparedRange(start[1], len(self.target)),
            first=not self.outcomes,
            observed=self.observed,
            more_on_source=self.seen < len(self.source),
        )
        lookups = AuditLookups(known.payloads, self._ancestors)
        (outcome,) = audit_topic([logs], compacted=False, young_from=OLD, lookups=lookups, late_before=late_before)
        assert (outcome.settled_coverage + outcome.waiting_coverage).adds_up
        self.outcomes.append(outcome)
        return outcome

    def _ancestors(self, hashes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Ancestry:
        offsets = {hash_of(each.payload): each.offset for each in self.source}
        found = np.array([offsets.get(each, -1) for each in hashes.tolist()], np.int64)
        return Ancestry(np.where(found < 0, -1, 0), found)


def settled(outcome: PartitionOutcome) -> Found:
    return [(d.kind, d.source_offset, d.target_offset, d.count) for d in outcome.settled]


def waiting(outcome: PartitionOutcome) -> Found:
    return [(d.kind, d.source_offset, d.target_offset, d.count) for d in outcome.waiting]


def test_what_is_not_copied_yet_is_late_when_it_is_old_and_is_looked_at_again() -> None:
    flow = ObservedCopy(records(20))
    flow.copy(*range(12))
    found = flow.audit(late_before=16)
    # A replicator reads in order: what is before a late record is late, too.
    assert (settled(found), waiting(found)) == (
        [],
        [(FindingKind.LATE, 12, None, 4), (FindingKind.IN_FLIGHT, 16, None, 4)],
    )
    assert found.resume == (12, 12)
    flow.copy(*range(12, 20))
    found = flow.audit(late_before=16)
    assert (settled(found), waiting(found), found.frontier) == ([], [], (20, 20))


def test_what_a_later_record_has_overtaken_is_lost() -> None:
    flow = ObservedCopy(records(20))
    flow.copy(*range(8), *range(11, 15))
    found = flow.audit(late_before=OLD)
    assert settled(found) == [(FindingKind.LOST, 8, None, 3)]
    assert waiting(found) == [(FindingKind.LATE, 15, None, 5)]


def test_a_changed_copy_at_the_very_end_is_found_and_what_follows_it_still_waits() -> None:
    flow = ObservedCopy(records(20))
    flow.copy(*range(12))
    flow.target.append(Written(12, Payload(b"k12", b"another", (), 12)))
    found = flow.audit(late_before=OLD)
    assert settled(found) == [(FindingKind.CORRUPT_VALUE, 12, 12, 1)]
    assert waiting(found) == [(FindingKind.LATE, 13, None, 7)]
    flow.copy(*range(13, 20))
    assert (settled(flow.audit()), flow.outcomes[-1].resume) == ([], (20, 20))


def test_copies_of_records_that_an_open_transaction_hides_wait_for_its_end() -> None:
    """MirrorMaker reads what is not committed, unless it is set otherwise."""
    flow = ObservedCopy(records(20))
    flow.copy(*range(18))
    flow.seen = 10
    found = flow.audit()
    assert (settled(found), waiting(found), found.resume) == ([], [], (10, 10))
    flow.target.append(Written(18, Payload(b"alien", b"x", (), 5)))
    assert settled(flow.audit()) == []
    flow.seen = 20
    found = flow.audit(late_before=OLD)
    assert settled(found) == [(FindingKind.FOREIGN, None, 18, 1)]
    assert waiting(found) == [(FindingKind.LATE, 18, None, 2)]


def test_what_is_going_to_be_taken_over_is_not_called_foreign_while_its_transaction_is_open() -> None:
    """Approved as foreign, and committed afterwards, it would be copied a second time."""
    flow = ObservedCopy(records(20), observed=False)
    flow.copy(*range(18))
    flow.seen = 10
    found = flow.audit()
    assert (settled(found), found.copied, found.resume) == ([], (10, 10), (10, 10))
    flow.seen = 20
    found = flow.audit()
    # Two old records have no copy yet: a take over does not count what follows the last copy.
    assert (settled(found), found.copied) == ([(FindingKind.LOST, 18, None, 2)], (18, 18))


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8)), min_size=1, max_size=8),
    st.integers(0, 40),
)
def test_a_flow_that_copies_in_order_and_repeats_itself_loses_nothing_whenever_it_is_audited(
    steps: list[tuple[int, int]], late_before: int
) -> None:
    """At least once: each step begins again some records before where it ended, as after a restart."""
    flow, copied, twice = ObservedCopy(records(40)), 0, 0
    for forward, back in steps:
        begin = max(0, copied - back)
        until = min(40, copied + forward)
        twice += copied - begin
        flow.copy(*range(begin, until))
        copied = until
        flow.audit(late_before=late_before)
    found = [d for outcome in flow.outcomes for d in outcome.settled]
    assert {d.kind for d in found} <= {FindingKind.DUPLICATE, FindingKind.REPLAY}
    assert sum(d.count for d in found) == twice
    covered = total(outcome.settled_coverage for outcome in flow.outcomes)
    assert (covered.verified, covered.differing) == (copied, 0)
    left = flow.outcomes[-1].waiting_coverage
    assert (left.in_flight + left.differing, left.verified) == (40 - copied, 0)
