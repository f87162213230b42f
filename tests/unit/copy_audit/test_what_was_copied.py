"""What an audit says of a copy that is taken over: how far it goes, some aligned pairs, what is in another order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import Fingerprints
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from kafka_dr.audit.corruption import Unseen
from kafka_dr.audit.offset_runs import OffsetRun, spread

OLD = 2**60


def log(contents: str, *, first: int = 0) -> Fingerprints:
    offsets = np.arange(first, first + len(contents), dtype=np.int64)
    return Fingerprints(
        offsets, np.zeros(len(contents), np.int64), np.array([ord(each) for each in contents], np.int64)
    )


def audited(source: str, target: str) -> PartitionOutcome:
    logs = PartitionLogs(0, log(source), log(target), ComparedRange(0, len(source)), ComparedRange(0, len(target)))

    def gone(_: object) -> tuple[object, object]:
        return (lambda _record: Unseen.GONE), (lambda _record: Unseen.GONE)

    (found,) = audit_topic([logs], compacted=False, young_from=OLD, lookups=AuditLookups(gone, nowhere))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("target", "copied", "displaced"),
    [
        ("abcdef", (6, 6), ()),
        ("abc", (3, 3), ()),
        ("", None, ()),
        ("abcabc", (3, 6), ()),
        ("abdef", (6, 5), ()),
        ("abXc", (3, 4), ()),
        ("abdefc", (6, 6), (((2, 3), (5, 6)),)),
        ("cab", (3, 3), (((2, 3), (0, 1)),)),
    ],
)
def test_how_far_the_copy_goes_and_what_is_in_another_order(
    target: str, copied: tuple[int, int] | None, displaced: tuple[object, ...]
) -> None:
    found = audited("abcdef", target)
    assert (found.copied, found.displaced) == (copied, displaced)


@given(st.lists(st.integers(1, 40), max_size=8), st.integers(1, 30))
def test_some_pairs_are_spread_over_all_that_is_aligned(lengths: list[int], most: int) -> None:
    runs, source, target = [], 0, 5
    for length in lengths:
        runs.append(OffsetRun(source, target, length))
        source, target = source + length + 3, target + length + 1
    pairs, total = spread(runs, most), sum(lengths)
    assert len(pairs) == min(most, total)
    numbers = [
        n for n, pair in enumerate((r.source + i, r.target + i) for r in runs for i in range(r.length)) if pair in pairs
    ]
    assert len(numbers) == len(pairs), "each is a record and its copy"
    assert all(later > earlier for earlier, later in pairwise(pairs))
    if pairs:
        assert numbers[0] == 0
        widest = max(later - earlier for earlier, later in pairwise([*numbers, total]))
        assert widest <= total / len(pairs) + 1
