from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.checksum.state import AuditState, PartitionState, Scan, StateStore
from kafka_dr.audit.coverage import Coverage
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson

P = TopicPartition("orders", 3)
STATE = AuditState(
    ("E", "W", 2),
    {"orders": ("a", "b")},
    {
        P: PartitionState(
            (5, 6),
            (7, 6),
            (1, 0),
            Coverage(5, 4, expired=1),
            {"LOST": 1},
            (4, 5),
            1_700,
            (None, (6, 1_800)),
            "one",
            True,
            ((2, 1_600, -7),),
        )
    },
    (Scan("one", datetime(2026, 3, 1, tzinfo=UTC), {P: ((1, 7), (0, 6))}),),
    ("one",),
    {"orders": (True, False)},
)


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    assert store.read() is None
    store.write(STATE)
    assert store.read() == STATE
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_ranges_that_are_settled_on_both_clusters_are_not_kept() -> None:
    settled = AuditState(STATE.identity, STATE.topic_ids, {P: PartitionState((7, 6), (7, 6))}, STATE.scans)
    assert [scan.ranges for scan in settled.slimmed().scans] == [{}]
    assert [scan.ranges for scan in STATE.slimmed().scans] == [STATE.scans[0].ranges]


def test_ranges_of_a_log_that_was_made_again_go_first_however_far_it_reached() -> None:
    before = Scan("before", datetime(2026, 2, 1, tzinfo=UTC), {P: ((0, 1000), (0, 1000))})
    anew = Scan("anew", datetime(2026, 3, 1, tzinfo=UTC), {P: ((0, 10), (0, 10))})
    state = AuditState(
        STATE.identity, partitions={P: PartitionState((5, 6), (5, 6), begun="anew")}, scans=(before, anew)
    )
    assert [dict(scan.ranges) for scan in state.slimmed().scans] == [{}, dict(anew.ranges)]


def test_scans_from_before_a_partition_began_again_are_not_asked_for_it() -> None:
    scans = tuple(Scan(name, datetime(2026, 3, day, tzinfo=UTC), {}) for day, name in enumerate(("a", "b", "c"), 1))

    def since(begun: str) -> list[str]:
        state = AuditState(STATE.identity, partitions={P: PartitionState(begun=begun)}, scans=scans)
        return [scan.name for scan in state.scans_of(P)]

    assert since("b") == ["b", "c"]
    # The one that it began with is gone, or nobody knows which it was: all that is left came later.
    assert since("gone") == since("") == ["a", "b", "c"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema_version": 9}', '{"schema_version": 1, "identity": 3}'])
def test_a_damaged_state_is_for_a_person(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(NeedsPerson, match="is damaged"):
        StateStore(tmp_path).read()
