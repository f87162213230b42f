"""Faults next to each other, in the same milliseconds: each is distinguished from the others, offset for offset."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.audit.finding import FindingKind
from support.crowded_copy import crowded_copy, one_by_one
from support.faulty_copy import KINDS
from support.topic_audits import audited, found


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(KINDS), max_size=60),
    st.integers(0, 10**9),
    st.integers(20, 120),
    st.sampled_from([1, 4, 1_000]),
)
def test_faults_next_to_each_other_are_distinguished_offset_for_offset(
    faults: list[FindingKind], seed: int, records: int, per_ms: int
) -> None:
    copy = crowded_copy(partitions=2, records=records, faults=faults, seed=seed, per_ms=per_ms)
    assert one_by_one(found(audited(copy))) == one_by_one(copy.truth)
