"""Asking leaders for the right to write: the small question against the large record, in bytes and milliseconds."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from kafka_dr.clusters import ClientSettings, KafkaCluster, TopicPartition, WriteAnswer
from kafka_dr.clusters.large_record import LargeRecord
from lab import credentials, rights
from lab.api import Lab
from lab.errors import LabError

CLUSTER, BROKER = "east", "east-broker-1"
_ROUNDS = 5
#: Two thousand large records take longer than a request usually may.
_SECONDS = 120.0
_LIMITS = {"times_fewer_bytes": 1_000.0, "times_faster": 2.0}
Ask = Callable[[], Collection[WriteAnswer]]


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is
    """
    parser = benches.add_parser("question", parents=list(options), help="asking leaders for the right to write")
    parser.add_argument("--partitions", type=int, nargs="+", default=[8, 600, 2_000], metavar="N")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking once costs.

    :param milliseconds: the median, leaders and limits looked up
    :param bytes_read: by the broker, for all of it
    """

    milliseconds: float
    bytes_read: int

    def to_json(self) -> dict[str, float]:
        """Return the figures."""
        return {"milliseconds": round(self.milliseconds, 1), "bytes_read": self.bytes_read}


def run(options: argparse.Namespace, console: Console) -> int:
    """Bring a lab up, measure, write the report, and take the lab down unless it was up before.

    :returns: 0 if every ratio is at least its limit, else 1
    """
    lab = Lab(options.home, port_base=options.port_base)
    was_up = lab.status().in_use
    lab.up(airflow=False)
    try:
        report = [_measure(lab, count) for count in options.partitions]
    finally:
        if not was_up:
            lab.down(delete=True)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    return _show(report, console)


def _measure(lab: Lab, count: int) -> dict[str, Any]:
    topic = f"orders.bench-question-{count}"
    partitions = [TopicPartition(topic, number) for number in range(count)]
    with _reached(lab, credentials.ADMIN) as admin, _reached(lab, rights.PROBE) as probe:
        admin.topics.create(topic, partitions=count, replication_factor=1, config={})
        try:
            large = LargeRecord(probe._session)

            def by_large_record() -> Collection[WriteAnswer]:
                leaders, configs = admin.topics.leaders([topic]), admin.topics.configs([topic])
                answers = large.ask(leaders, configs).values()
                admin.topics.leaders([topic])
                return answers

            _until_known(lambda: probe.write_permission.ask(partitions, seen_by=admin.topics))
            new = _cost(
                lab, lambda: probe.write_permission.ask(partitions, seen_by=admin.topics), count, rounds=_ROUNDS
            )
            old = _cost(lab, by_large_record, count, rounds=_ROUNDS if count < 100 else 1)
        finally:
            admin.topics.delete([topic])
    return {
        "partitions": count,
        "small": new.to_json(),
        "large": old.to_json(),
        "times_fewer_bytes": round(old.bytes_read / new.bytes_read),
        "times_faster": round(old.milliseconds / new.milliseconds, 1),
    }


def _reached(lab: Lab, principal: str) -> KafkaCluster:
    settings = ClientSettings.from_librdkafka(lab.client_settings(CLUSTER, principal))
    return KafkaCluster(CLUSTER, settings, request_seconds=_SECONDS)


def _until_known(ask: Ask) -> None:
    """Wait until the broker leads every partition of a topic that is a moment old."""
    deadline = time.monotonic() + _SECONDS
    while {answer.verdict for answer in ask()} != {"allowed"}:
        if time.monotonic() > deadline:
            raise LabError(f"the topic was not there after {_SECONDS:g} s: look at the broker's log")


def _cost(lab: Lab, ask: Ask, count: int, *, rounds: int) -> Cost:
    pid = next(process.pid for process in lab.status().processes if process.name == BROKER)
    broker, seconds = psutil.Process(pid), []
    before = broker.io_counters().read_chars
    for _ in range(rounds):
        began = time.monotonic()
        answers = ask()
        seconds.append(time.monotonic() - began)
        wrong = [answer for answer in answers if answer.verdict != "allowed"]
        if wrong or len(answers) != count:
            raise LabError(f"{len(answers)} of {count} leaders answered, {wrong[:1]}: these figures mean nothing")
    read = broker.io_counters().read_chars - before
    return Cost(statistics.median(seconds) * 1000, read // rounds)


def _show(report: Sequence[dict[str, Any]], console: Console) -> int:
    for row in report:
        small, large = row["small"], row["large"]
        both = (f"{each['milliseconds']:,} ms and {each['bytes_read']:,} bytes" for each in (small, large))
        ratio = f"{row['times_faster']:,} times faster, {row['times_fewer_bytes']:,} times fewer bytes"
        console.print(f"{row['partitions']:,} partitions: {'; by large records '.join(both)}: {ratio}")
    largest = max(report, key=lambda row: int(row["partitions"]))
    missed = [name for name, limit in _LIMITS.items() if largest[name] < limit]
    for name in missed:
        console.print(f"[red]✗[/] {name} {largest[name]} (at least {_LIMITS[name]:g})")
    return 1 if missed else 0
