"""``/metrics`` of many protection groups: how long it takes to read what is kept of them and to write the page."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from rich.console import Console

from kafka_dr.metrics.page import metrics_page
from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import NOT_NEEDED, ReadinessCheck, VerbReadiness
from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.topology.model import Topology
from kafka_dr.watch_results import WATCHES, KeptResult, RunEnding, RunEndings, WatchResultStore

_TRIES = 7
#: As many as a planned failover has today.
_CHECKS = 30
_STEPS = 12


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is; it is not started
    """
    parser = benches.add_parser("metrics", parents=list(options), help="the page of metrics of many protection groups")
    parser.add_argument("--groups", type=int, default=100, metavar="N", help="protection groups, all of them watched")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> int:
    """Measure, and write the report: with results of now, and with results that are all too old.

    :returns: 0
    """
    names, now = [f"group-{number:03}" for number in range(options.groups)], datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="kafka-dr-metrics-") as folder:
        root = Path(folder)
        keep_results(root, names, now)
        topology = topology_with(names)
        text = metrics_page(topology, with_deadline(root), now)
        report = {
            "groups": len(names),
            "samples": sum(not line.startswith("#") for line in text.splitlines()),
            "bytes": len(text),
            "page_seconds": median_seconds(lambda: metrics_page(topology, with_deadline(root), now)),
            "processor_seconds": median_seconds(lambda: metrics_page(topology, root, now), time.process_time),
            "old_page_seconds": median_seconds(
                lambda: metrics_page(topology, with_deadline(root), now + timedelta(days=1))
            ),
            "parse_seconds": median_seconds(lambda: [json.loads(path.read_bytes()) for path in root.rglob("*.json")]),
        }
    report["times_parsing"] = round(report["page_seconds"] / report["parse_seconds"], 1)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    for name, value in report.items():
        console.print(f"{name}: {value}")
    return 0


def median_seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long an action takes, the middle of several tries."""
    taken = []
    for _ in range(_TRIES):
        began = clock()
        action()
        taken.append(clock() - began)
    return round(statistics.median(taken), 4)


def keep_results(root: Path, names: Sequence[str], now: datetime) -> None:
    """Keep a good result of every watch for these groups, and twenty runs of each."""
    for watch in WATCHES:
        kept = [
            KeptResult(name, watch, "ok", ("all is good",), now, run="scheduled__1", facts=_facts(watch, now))
            for name in names
        ]
        if watch in ("lag", "checksum"):
            for each in kept:
                WatchResultStore(root).keep(each)
        # The last task of an audit collects what its tasks have kept one by one.
        WatchResultStore(root).keep_round(watch, kept, declared=names)
    steps = {f"step_{number}": 0.5 for number in range(_STEPS)}
    for name in names:
        for number in range(20):
            ending = RunEnding(f"run {number}", "dr_planned_failover", "MOVED", True, now, steps, {"rto_seconds": 9.9})
            RunEndings(root).keep(name, ending)


def _facts(watch: str, now: datetime) -> dict[str, Any]:
    checks = tuple(ReadinessCheck(f"check_{number}", "ok", "as it should be", now) for number in range(_CHECKS))
    not_needed = (ReadinessCheck(NOT_NEEDED, "ok", "the standby is a copy", now),)
    readiness = (VerbReadiness("planned_failover", checks), VerbReadiness("unplanned_failover", checks))
    facts: dict[str, dict[str, Any]] = {
        "health": {
            "phase": "stable",
            "active": "east",
            "standby": "west",
            "epoch": 3,
            "verb": "planned_failover",
            "run": "run 0",
            "recorded_at": (now - timedelta(hours=1)).isoformat(),
            "approved_by": "alice",
            "held": False,
            "open_checks": {},
        },
        "readiness": facts_of((*readiness, VerbReadiness("failback", not_needed))),
        "canary": {"verdict": "on_time", "rpo_seconds": 0.0, "seconds": 0.4},
        "lag": {"records": 7, "bytes": 700, "seconds": 0.5, "consumer_groups": {"OK": 3}, "findings": {}},
        "checksum": {"verified_rpo_seconds": 2.0, "unverified_offsets": 12, "findings": {}, "at": now.isoformat()},
    }
    return facts.get(watch, {})


def topology_with(names: Sequence[str]) -> Topology:
    """Return as much of a topology with these groups as the page of metrics reads."""
    objectives = SimpleNamespace(rto_seconds=60, rpo_seconds=60, write_outage_seconds=5)
    spec = SimpleNamespace(clusters=("east", "west"), watch="normal", objectives=objectives)
    return cast("Topology", SimpleNamespace(protection_groups=dict.fromkeys(names, spec)))
