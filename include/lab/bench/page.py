"""The status page of many protection groups: how long it takes to read what is kept of them and to write the page."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_dr.evidence.open_run_view import OpenedRuns
from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.status_view import build_status_view
from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.watch_results import OpenRuns, RunEndings, WatchResultStore, read_endings, read_status
from lab.bench.metrics import keep_results, median_seconds

_LINKS = StatusLinks(
    "/",
    dag="/dags/{}".format,
    dag_run="/dags/{}/runs/{}".format,
    evidence="/kafka-dr/evidence/{}/{}".format,
    group="/kafka-dr/groups/{}".format,
    result="/kafka-dr/results/{}/{}".format,
    question="/kafka-dr/question/{}/{}/{}".format,
    start="/kafka-dr/start/{}/{}".format,
)


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is; it is not started
    """
    parser = benches.add_parser("page", parents=list(options), help="the status page of many protection groups")
    parser.add_argument("--groups", type=int, default=100, metavar="N", help="protection groups, all of them watched")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> int:
    """Measure, and write the report: with results of now, and with results that are all too old.

    :returns: 0
    """
    names, now = [f"group-{number:03}" for number in range(options.groups)], datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="kafka-dr-page-") as folder:
        root = Path(folder)
        keep_results(root, names, now)
        text = status_page(with_deadline(root), names, now)
        report = {
            "groups": len(names),
            "bytes": len(text),
            "page_ms": _ms(median_seconds(lambda: status_page(with_deadline(root), names, now))),
            "processor_ms": _ms(median_seconds(lambda: status_page(root, names, now), time.process_time)),
            "old_page_ms": _ms(
                median_seconds(lambda: status_page(with_deadline(root), names, now + timedelta(days=1)))
            ),
        }
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    for name, value in report.items():
        console.print(f"{name}: {value}")
    return 0


def status_page(root: Any, names: Sequence[str], now: datetime) -> str:
    """Return the page as the API server makes it.

    :param root: the evidence root
    """
    found = read_status(names, WatchResultStore(root), now)
    runs, _ = OpenRuns(root).read(now)
    opened = OpenedRuns(tuple((each, ()) for each in runs))
    return render_status(build_status_view(found, now, _LINKS, read_endings(names, RunEndings(root)), opened))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
