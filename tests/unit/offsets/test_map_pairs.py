"""Offset pairs to begin a translation at, from what audits matched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_dr.audit.kept_map import MapKey, to_lines
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import TopicPartition
from kafka_dr.offsets.maps import MapStore
from kafka_dr.positions import OffsetPair

P = TopicPartition("orders", 0)
IDS = {"orders": ("a", "b")}
KEY = MapKey(1, "a", "b", "orders", 0)


def keep(root: Path, direction: str, clusters: tuple[str, str], *parts: dict[MapKey, list[OffsetRun]]) -> None:
    folder = root / "audits" / "shop" / "checksum" / direction
    (folder / "map").mkdir(parents=True)
    for number, runs in enumerate(parts):
        (folder / "map" / f"{number}.jsonl").write_bytes(to_lines(runs))
    state = {"identity": [*clusters, 1], "maps": [str(number) for number in range(len(parts))]}
    (folder / "state.json").write_text(json.dumps(state))


@pytest.fixture
def maps(tmp_path: Path) -> MapStore:
    return MapStore(tmp_path, "shop", source=("east", "E"), target=("west", "W"))


def near(maps: MapStore, *positions: int, ids: dict[str, tuple[str, str]] = IDS) -> list[tuple[int, int]]:
    found = maps.pairs_below({P: positions}, ids).get(P, [])
    assert all(isinstance(pair, OffsetPair) for pair in found)
    return sorted(found)


def test_the_last_matched_record_below_a_position_is_where_it_begins(maps: MapStore, tmp_path: Path) -> None:
    keep(tmp_path, "east-to-west", ("E", "W"), {KEY: [OffsetRun(0, 5, 40), OffsetRun(60, 55, 40)]})
    assert near(maps, 0) == []
    assert near(maps, 1, 30, 40) == [(0, 5), (29, 34), (39, 44)]
    assert near(maps, 55, 60, 61, 500) == [(39, 44), (39, 44), (60, 55), (99, 94)]


def test_the_newest_part_that_reaches_a_position_decides(maps: MapStore, tmp_path: Path) -> None:
    keep(tmp_path, "east-to-west", ("E", "W"), {KEY: [OffsetRun(0, 5, 40)]}, {KEY: [OffsetRun(40, 50, 10)]})
    assert near(maps, 20, 45) == [(19, 24), (44, 54)]


def test_the_map_of_the_way_back_is_read_the_other_way(maps: MapStore, tmp_path: Path) -> None:
    keep(tmp_path, "west-to-east", ("W", "E"), {MapKey(2, "b", "a", "orders", 0): [OffsetRun(70, 60, 30)]})
    assert near(maps, 65) == [(64, 74)]


def test_what_is_known_of_other_topics_or_clusters_is_not_used(maps: MapStore, tmp_path: Path) -> None:
    keep(tmp_path, "east-to-west", ("E", "W"), {KEY: [OffsetRun(0, 5, 40)]})
    keep(tmp_path, "west-to-east", ("X", "E"), {MapKey(2, "b", "a", "orders", 0): [OffsetRun(70, 60, 30)]})
    assert near(maps, 20, ids={"orders": ("a", "new")}) == []
    assert near(maps, 65, ids={"orders": ("a", "b")}) == [(39, 44)]
