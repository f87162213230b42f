"""``/metrics`` from files: what is damaged, missing or hostile is unknown, and harms nothing else on the page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.json_documents import is_number
from kafka_dr.metrics.page import metrics_page
from kafka_dr.metrics.table import METRICS
from kafka_dr.watch_results import WATCHES, RunEnding, RunEndings, WatchResultStore
from support.kept_metrics import NOON, kept, topology_of
from support.prometheus import read_back, samples_in

HOSTILE = 'a"} 1\nkafka_dr_phase{group="forged\u202e'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An evidence root with good results of two groups."""
    found = tmp_path / "root"
    for watch in WATCHES:
        both = (kept("orders", watch), kept("payments", watch))
        WatchResultStore(found).keep_round(watch, both, declared={"orders", "payments"})
    for group in ("orders", "payments"):
        RunEndings(found).keep(group, RunEnding("m1", "dr_planned_failover", "MOVED", True, NOON, {"claim": 0.5}))
    return found


def page(
    root: Path, folder: Path | None = None, conflicts: tuple[str, ...] = ()
) -> dict[str, dict[tuple[str, ...], float]]:
    """Return what is on the page: by metric and values of labels.

    :param folder: for Prometheus, which then reads the page
    """
    text = metrics_page(topology_of("orders", "payments", conflicts=conflicts), root, NOON)
    made: dict[str, dict[tuple[str, ...], float]] = {}
    for labels, value in (samples_in(text) if folder is None else read_back(text, folder)).items():
        named = dict(labels)
        name = named.pop("__name__")
        order = METRICS[name.removesuffix("_total")].labels
        made.setdefault(name, {})[tuple(named[each] for each in order)] = value
    return made


def test_every_group_and_watch_is_on_the_page(root: Path, tmp_path: Path) -> None:
    found = page(root, tmp_path)
    assert found["kafka_dr_groups"] == {(): 2}
    assert found["kafka_dr_watch_age_seconds"] == {
        (group, watch): 0 for group in ("orders", "payments") for watch in WATCHES
    }
    assert found["kafka_dr_step_seconds"]["payments", "planned_failover", "claim"] == 0.5
    assert found["kafka_dr_readiness"]["orders", "planned_failover", "ready"] == 1
    assert found["kafka_dr_situation"] == {(group, "well", "good"): 1 for group in ("orders", "payments")}


def test_conflicts_of_a_block_are_counted_and_not_known_where_nobody_looked(root: Path, tmp_path: Path) -> None:
    facts = {"certain": 3, "possible": 9, "partition_differs": 0, "stray_records": 1, "unknown_offsets": 0}
    store = WatchResultStore(root)
    store.keep_round("conflicts", [kept("shop", "conflicts", outcome="failed", facts=facts)], declared={"shop"})
    found = page(root, tmp_path, conflicts=("shop", "never"))
    counts = found["kafka_dr_conflicts"]
    assert {count: counts["shop", count] for count in facts} == facts
    assert all(math.isnan(counts["never", count]) for count in facts)
    assert found["kafka_dr_watch_outcome"]["shop", "conflicts", "failed"] == 1
    assert found["kafka_dr_watch_outcome"]["never", "conflicts", "unknown"] == 1


def test_what_is_the_matter_is_unknown_where_it_is_not_known_which_runs_are_open(root: Path) -> None:
    (root / "watches" / ".running").write_text("no folder")
    assert page(root)["kafka_dr_situation"] == {(group, "unknown", "unknown"): 1 for group in ("orders", "payments")}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"schema_version": 2}', b"null", b"9" * 6000, b"[" * 200_000]
)
def test_a_damaged_file_is_unknown_and_the_others_are_as_before(root: Path, content: bytes) -> None:
    before = page(root)
    (root / "watches" / "canary.json").write_bytes(content)
    (root / "watches" / "orders" / "runs.json").write_bytes(content)
    after = page(root)
    for group in ("orders", "payments"):
        assert after["kafka_dr_watch_outcome"][group, "canary", "unknown"] == 1
        assert after["kafka_dr_watch_outcome"][group, "canary", "ok"] == 0
        assert after["kafka_dr_watch_age_seconds"][group, "canary"] == float("inf")
        assert after["kafka_dr_readiness"][group, "planned_failover", "unknown"] == 1
        assert after["kafka_dr_watch_age_seconds"][group, "health"] == 0
    assert after["kafka_dr_runs_readable"] == {("orders",): 0, ("payments",): 1}
    assert after["kafka_dr_lag_seconds"] == before["kafka_dr_lag_seconds"]


@pytest.mark.parametrize("huge", ["1e999", "-1e999", "NaN", f"1{'0' * 400}"])
def test_numbers_beyond_all_measure_make_one_result_unknown(root: Path, huge: str) -> None:
    for watch in WATCHES:
        path = root / "watches" / f"{watch}.json"
        stored = json.loads(path.read_bytes())
        facts = stored["groups"]["orders"]["facts"]
        stored["groups"]["orders"]["facts"] = {
            name: "HUGE" if is_number(each) else each for name, each in facts.items()
        }
        if watch == "health":
            stored["groups"]["orders"]["totals"] = {"denies_added": 7}
        if watch == "lag":
            stored["groups"]["orders"]["every_seconds"] = "HUGE"
        path.write_text(json.dumps(stored).replace('"HUGE"', huge).replace(": 7}", f": {huge}}}"))
    (root / "watches" / "orders" / "runs.json").write_text(
        (root / "watches" / "orders" / "runs.json").read_text().replace("0.5", huge)
    )
    found = page(root)
    assert found["kafka_dr_watch_outcome"]["orders", "lag", "unknown"] == 1
    assert found["kafka_dr_runs_readable"]["orders",] == 0
    assert found["kafka_dr_denies_added_total"]["orders",] == 0
    assert found["kafka_dr_lag_seconds"]["payments",] != found["kafka_dr_lag_seconds"]["payments",]
    assert found["kafka_dr_watch_outcome"]["payments", "checksum", "ok"] == 1


def test_without_any_file_every_watch_of_every_group_is_unknown(tmp_path: Path) -> None:
    found = page(tmp_path / "nothing")
    unknown = [value for labels, value in found["kafka_dr_watch_outcome"].items() if labels[-1] == "unknown"]
    assert unknown == [1.0] * 2 * len(WATCHES)
    assert set(found["kafka_dr_watch_age_seconds"].values()) == {float("inf")}


def _hostile(value: Any) -> Any:
    if isinstance(value, dict):
        return {f"{HOSTILE}{name}": _hostile(each) for name, each in value.items()} | value
    return [_hostile(each) for each in value] if isinstance(value, list) else HOSTILE


def test_stored_names_and_texts_forge_no_sample(root: Path, tmp_path: Path) -> None:
    for watch in WATCHES:
        path = root / "watches" / f"{watch}.json"
        stored = json.loads(path.read_bytes())
        for each in stored["groups"].values():
            each["facts"] = _hostile(each["facts"])
            each["facts"]["open_checks"] = {HOSTILE: HOSTILE}
            each["facts"]["findings"] = {HOSTILE: 3}
        path.write_text(json.dumps(stored))
    found = page(root, tmp_path)
    assert {labels[0] for name, each in found.items() if name != "kafka_dr_groups" for labels in each} == {
        "orders",
        "payments",
    }
    (check,) = {labels[1] for labels in found["kafka_dr_health_check"]}
    assert check == HOSTILE.replace("\n", "\\n").replace("\u202e", "\\u202e")
