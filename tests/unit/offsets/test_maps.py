"""The audits' maps, read from the evidence root, and written out for consumers that keep their positions elsewhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq

from kafka_dr.audit.kept_map import KeptMap, MapKey
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.offsets.maps import MapStore, export
from kafka_dr.positions import TopicPartition

ONE = TopicPartition("orders.payments", 0)
IDS = {"orders.payments": ("e", "w")}
Row = tuple[int, str, str, int, int, int]


def write(root: Path, direction: str, *, epoch: int, named: dict[str, list[Row]], others: dict[str, list[Row]]) -> None:
    kept = KeptMap(root, group="orders", direction=direction)
    for name, rows in (named | others).items():
        part: dict[MapKey, list[OffsetRun]] = {}
        for epoch_of, source_id, target_id, *run in rows:
            part.setdefault(MapKey(epoch_of, source_id, target_id, "orders.payments", 0), []).append(OffsetRun(*run))
        kept.add(name, part)
    open_findings = {"partition": ["orders.payments", 0], "open": {"missing": 2} if epoch == 9 else {}}
    state = {"identity": ["E", "W", epoch], "maps": list(named), "partitions": [open_findings]}
    kept.folder.joinpath("state.json").write_text(json.dumps(state))


def seen_from_east(root: Path) -> MapStore:
    return MapStore(root, "orders", source=("east", "E"), target=("west", "W"))


def test_maps_of_both_directions_and_earlier_epochs_make_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        "east-to-west",
        epoch=3,
        named={"c": [(3, "e", "w", 30, 33, 10)]},
        others={"a": [(1, "e", "w", 0, 0, 10)], "dead": [(3, "e", "w", 900, 5, 1)]},
    )
    write(tmp_path, "west-to-east", epoch=2, named={"b": [(2, "w", "e", 12, 11, 10)]}, others={})
    found = seen_from_east(tmp_path).read(IDS).runs[ONE]
    assert [found.translate(at) for at in (5, 15, 35, 900)] == [5, 16, 38, None]
    back = (
        MapStore(tmp_path, "orders", source=("west", "W"), target=("east", "E"))
        .read({"orders.payments": ("w", "e")})
        .runs[ONE]
    )
    assert [back.translate(at) for at in (5, 16, 38)] == [5, 15, 35]


def test_a_map_of_a_topic_that_was_made_again_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "east-to-west", epoch=1, named={"a": [(1, "e", "older", 0, 0, 10)]}, others={})
    assert seen_from_east(tmp_path).read(IDS).runs == {}


def test_the_ids_of_a_cluster_that_does_not_answer_are_not_compared(tmp_path: Path) -> None:
    write(tmp_path, "east-to-west", epoch=1, named={"a": [(1, "e", "w", 0, 0, 10)]}, others={})
    found = seen_from_east(tmp_path).read({"orders.payments": ("", "w")})
    assert found.runs[ONE].translate(4) == 4


def test_open_findings_are_a_caution(tmp_path: Path) -> None:
    write(tmp_path, "east-to-west", epoch=9, named={"a": [(9, "e", "w", 0, 0, 10)]}, others={})
    found = seen_from_east(tmp_path).read(IDS)
    assert found.cautions == {ONE: "2 open findings of the checksum audit (missing)"}


def test_files_that_cannot_be_read_are_named_and_nothing_rests_on_them(tmp_path: Path) -> None:
    write(tmp_path, "east-to-west", epoch=1, named={"a": [(1, "e", "w", 0, 0, 10)]}, others={})
    folder = tmp_path / "audits" / "orders" / "checksum" / "east-to-west"
    (part,) = (folder / "map").iterdir()
    part.write_bytes(part.read_bytes()[:-3])
    found = seen_from_east(tmp_path).read(IDS)
    assert found.runs == {}
    assert found.problems[0].startswith("part a of the offset map in ")
    assert "cannot be read" in found.problems[0]
    (folder / "state.json").write_text("{")
    assert "no map is used" in seen_from_east(tmp_path).read(IDS).problems[0]


def test_the_export_says_the_same_as_parquet_and_as_csv(tmp_path: Path) -> None:
    write(tmp_path, "east-to-west", epoch=1, named={"a": [(1, "e", "w", 0, 2, 10)]}, others={})
    runs = seen_from_east(tmp_path).read(IDS).runs
    for name in export(tmp_path / "out", runs):
        assert (tmp_path / "out" / name).is_file()
    [row] = pq.read_table(tmp_path / "out" / "offset_map.parquet").to_pylist()
    with (tmp_path / "out" / "offset_map.csv").open() as file:
        [line] = csv.DictReader(file)
    assert line == {name: str(value) for name, value in row.items()}
    assert OffsetRun(row["source_start"], row["target_start"], row["length"]) == OffsetRun(0, 2, 10)
