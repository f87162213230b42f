"""The offset map between two audits, and what a failover finds of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.audit.kept_map import KeptMap, MapKey, from_lines, merged, to_lines
from kafka_dr.audit.offset_runs import OffsetRun

KEY = MapKey(3, "a", "b", "orders", 0)
RUNS = {KEY: [OffsetRun(0, 0, 5), OffsetRun(5, 8, 4)]}
CLUSTERS = ("E", "W")


def keep(root: Path, *, maps: list[str], **parts: dict[MapKey, list[OffsetRun]]) -> KeptMap:
    folder = root / "audits" / "orders" / "checksum" / "east-to-west"
    (folder / "map").mkdir(parents=True)
    for name, runs in parts.items():
        (folder / "map" / f"{name}.jsonl").write_bytes(to_lines(runs))
    (folder / "state.json").write_text(json.dumps({"identity": [*CLUSTERS, 3], "maps": maps}))
    return KeptMap(root, group="orders", direction="east-to-west")


def test_parts_become_one_without_what_is_in_both() -> None:
    later = {KEY: [OffsetRun(5, 8, 4), OffsetRun(9, 12, 3)]}
    assert merged([RUNS, later]) == {KEY: [OffsetRun(0, 0, 5), OffsetRun(5, 8, 7)]}


@given(
    st.dictionaries(
        st.builds(MapKey, st.integers(0), st.text(), st.text(), st.text(), st.integers(0, 99)),
        st.lists(st.builds(OffsetRun, st.integers(0), st.integers(0), st.integers(1)), min_size=1),
    )
)
def test_what_is_written_is_read_back(runs: dict[MapKey, list[OffsetRun]]) -> None:
    assert from_lines(to_lines(runs)) == runs


def test_only_the_parts_that_the_state_names_count(tmp_path: Path) -> None:
    kept = keep(tmp_path, maps=["one"], one=RUNS, died={KEY: [OffsetRun(9, 9, 1)]})
    assert kept.read(CLUSTERS) == RUNS


def test_a_map_of_other_clusters_says_nothing(tmp_path: Path) -> None:
    assert keep(tmp_path, maps=["one"], one=RUNS).read(("X", "W")) == {}


def test_parts_come_newest_first_and_one_that_is_gone_hides_no_other(tmp_path: Path) -> None:
    later = {KEY: [OffsetRun(9, 12, 3)]}
    kept = keep(tmp_path, maps=["one", "gone", "two"], one=RUNS, two=later)
    assert list(kept.newest_first(CLUSTERS)) == [later, RUNS]


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_damaged_state_means_no_map(tmp_path: Path, content: str) -> None:
    kept = keep(tmp_path, maps=["one"], one=RUNS)
    next(tmp_path.rglob("state.json")).write_text(content)
    assert kept.read(CLUSTERS) == {}


def test_without_an_audit_there_is_no_map(tmp_path: Path) -> None:
    assert KeptMap(tmp_path, group="orders", direction="east-to-west").read(CLUSTERS) == {}


@pytest.mark.parametrize("content", [b"{", b"[1]\n", b'[3,"a","b","orders",0,[[1,2]]]\n', b"[]"])
def test_a_damaged_map_is_not_used_and_the_log_says_so(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    kept = keep(tmp_path, maps=["one"], one=RUNS)
    next(tmp_path.rglob("one.jsonl")).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert kept.read(CLUSTERS) == {}
    assert "cannot be read" in caplog.text
