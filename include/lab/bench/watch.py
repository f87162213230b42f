"""The watches of many protection groups: how long a look takes, how soon a cluster that returns is fenced, and tasks.

The rounds are those of the DAGs, in child processes, with the lab's own clusters. Airflow itself is not started: how
many tasks it would run in a day follows from the DAGs, which are parsed with the same topology.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rich.console import Console

from kafka_dr.clock import SystemClock
from kafka_dr.fencing import plan
from kafka_dr.health import between_looks
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.rounds.looks import BETWEEN, CHANGED, HEALTH
from kafka_dr.rounds.round import Round, RoundLimits, look_at_groups
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from lab.api import Lab
from lab.bench import many_groups
from lab.bench.offsets import lab_clients
from lab.bench.parsed import parsed
from lab.errors import LabError
from lab.layout import PROJECT

_OPEN, _RETURNED = "west-broker-1", "west"
_ROUND_SECONDS, _PERIOD_SECONDS, _BACK_SECONDS = 50.0, 60.0, 300.0
_GOALS = {"tasks_a_day": 20_000, "look_seconds": 20.0, "fenced_seconds": 60.0, "parse_seconds": 1.0}


def configure(benches: Any, *, options: Sequence[argparse.ArgumentParser]) -> None:
    """Add this benchmark to the others.

    :param options: the options that say where the lab is
    """
    parser = benches.add_parser("watch", parents=list(options), help="the scheduled checks of many protection groups")
    parser.add_argument("--groups", type=int, default=100, metavar="N", help="protection groups, each of two topics")
    parser.add_argument("--looks", type=int, default=5, metavar="N", help="looks of health that are measured")
    parser.add_argument("--report", type=Path, required=True, metavar="FILE", help="where the figures go, as JSON")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Looked:
    """One round of health."""

    seconds: float
    processor_seconds: float
    found: dict[str, WatchResult]


def run(options: argparse.Namespace, console: Console) -> int:
    """Measure, and write the report.

    :returns: 0 if every goal was reached; else 1
    """
    lab = Lab(options.home.expanduser().absolute(), port_base=options.port_base)
    console.print(f"{options.groups} protection groups: the lab starts")
    lab.up(airflow=False)
    try:
        report = _measure(lab, options.groups, options.looks, console)
    finally:
        lab.down(delete=True)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    for name, goal in _GOALS.items():
        console.print(f"{name}: {report[name]} (goal: at most {goal:g})")
    return 0 if report["reached"] else 1


def _measure(lab: Lab, count: int, looks: int, console: Console) -> dict[str, Any]:
    bench = WatchBench(lab, count, console)
    bench.begin()
    console.print(f"{count} groups are adopted")
    looked = [bench.look() for _ in range(looks)]
    for each in looked:
        console.print(f"a look of health: {each.seconds:.1f} s, {each.processor_seconds:.1f} s of a processor")
    fenced = bench.seconds_until_fenced()
    dags = bench.parsed()
    report: dict[str, Any] = {
        "groups": count,
        "look_seconds": round(statistics.median(each.seconds for each in looked), 2),
        "look_seconds_each": [round(each.seconds, 2) for each in looked],
        "look_processor_seconds": round(statistics.median(each.processor_seconds for each in looked), 2),
        "look_found": _outcomes(looked[-1].found),
        "fenced_seconds": round(max(fenced.values()), 1),
        "fenced_seconds_each": {name: round(seconds, 1) for name, seconds in fenced.items()},
        "tasks_a_day": sum(dags["tasks_a_day"].values()),
        "tasks_a_day_of": dags["tasks_a_day"],
        "parse_seconds": dags["parse_seconds"],
        "peak_memory_mb_of_a_process": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "machine": {"processors": os.cpu_count(), "load": os.getloadavg()[0]},
    }
    report["reached"] = all(report[name] <= goal for name, goal in _GOALS.items())
    return report


class WatchBench:
    """Many protection groups in a lab, and the looks at them."""

    def __init__(self, lab: Lab, count: int, console: Console) -> None:
        self._lab = lab
        self._count = count
        self._console = console
        self._groups = many_groups.names(count)

    def clients(self) -> Clients:
        """Return clients for all groups."""
        return lab_clients(self._lab, lambda topology: many_groups.declared(topology, self._count))

    def begin(self) -> None:
        """Create and adopt the groups."""
        many_groups.create(self._lab, self._count)
        with self.clients() as clients:
            many_groups.adopt_all(clients, self._groups)

    def look(self, **more: Any) -> Looked:
        """Look at every group once, as ``dr_health`` does."""
        began, used = time.monotonic(), _processor()
        found = self._round(HEALTH, self._groups, seconds=_ROUND_SECONDS, **more)
        return Looked(time.monotonic() - began, _processor() - used, found)

    def _round(
        self,
        look: str,
        groups: Sequence[str],
        *,
        seconds: float,
        settings: Mapping[str, bool] = MappingProxyType({}),
        **more: Any,
    ) -> dict[str, WatchResult]:
        with self.clients() as clients:
            access = AccessData.read(clients.topology, groups, self._lab.connections().get)
            limits = RoundLimits(seconds - 2, seconds)
            wanted = Round(
                look, clients.topology, access, clients.evidence_root, "bench", limits, settings=dict(settings)
            )
            return look_at_groups(wanted, groups, clock=SystemClock(), **more)

    def seconds_until_fenced(self) -> dict[str, float]:
        """Let a cluster return that has none of its fences, and return after how many seconds it has all of them.

        A look begins every minute, and listens afterwards, as a scheduled look of ``dr_health`` does. The two worst
        moments are measured: the cluster returns right after it was asked, or right after the look has stopped to
        listen. It needs some time to start, so the seconds count from the earliest moment that it could have returned
        without being noticed: the beginning of the look, or the end of the listening.

        :raises LabError: a fence was not there in time
        """
        return {"while_it_listens": self._fenced_while_listening(), "after_it_listened": self._fenced_in_next_minute()}

    def _fenced_while_listening(self) -> float:
        began, found = self._look_without_cluster()
        self._lab.restart(_OPEN)
        if not self._listen(found, began):
            _sleep_until(began + timedelta(seconds=_PERIOD_SECONDS))
        self.look()
        return self._fenced_after(began)

    def _fenced_in_next_minute(self) -> float:
        began, found = self._look_without_cluster()
        if changed := self._listen(found, began):
            raise LabError(f"{', '.join(changed)} changed while nothing was done to them")
        self._lab.restart(_OPEN)
        self._wait_for_answer()
        _sleep_until(began + timedelta(seconds=_PERIOD_SECONDS))
        self.look()
        return self._fenced_after(began + between_looks.LISTENS_UNTIL)

    def _look_without_cluster(self) -> tuple[datetime, Looked]:
        """Take a cluster's fences away and let it die, then look at the next full minute; return when, and the look."""
        self._remove_fences()
        self._lab.kill(_OPEN)
        now = datetime.now(UTC)
        began = now.replace(second=0, microsecond=0) + timedelta(seconds=_PERIOD_SECONDS)
        _sleep_until(began)
        found = self.look()
        self._console.print(f"a look of health without {_RETURNED}: {found.seconds:.1f} s")
        return began, found

    def _listen(self, looked: Looked, began: datetime) -> tuple[str, ...]:
        """Ask whether clusters still answer as long as a scheduled look does, and return those that changed."""
        seconds = between_looks.seconds_to_listen(began, datetime.now(UTC))
        if seconds < between_looks.LEAST_SECONDS:
            return ()
        with self.clients() as clients:
            asked = between_looks.one_of_each(clients.topology, looked.found)
        known = between_looks.heard_in(looked.found.values())
        limit = seconds + between_looks.LAST_ANSWER_SECONDS
        heard = self._round(BETWEEN, asked, seconds=limit, settings=known)
        return tuple(name for each in heard.values() for name in each.facts.get(CHANGED, ()))

    def _fenced_after(self, earliest: datetime) -> float:
        if missing := self._missing():
            raise LabError(f"{missing} DENYs are still missing on {_RETURNED}")
        return (datetime.now(UTC) - earliest).total_seconds()

    def _remove_fences(self) -> None:
        with self.clients() as clients:
            for name in self._groups:
                wanted = plan.work_denies(clients.topology.group(name))
                clients.cluster(_RETURNED, "operator").acls.remove(wanted)

    def _missing(self) -> int:
        with self.clients() as clients:
            found = clients.cluster(_RETURNED, "operator").acls.list()
            return sum(len(plan.work_denies(clients.topology.group(name)) - found) for name in self._groups)

    def _wait_for_answer(self) -> None:
        deadline = time.monotonic() + _BACK_SECONDS
        while True:
            try:
                return self._ask()
            except Exception as error:
                if time.monotonic() > deadline:
                    raise LabError(f"{_RETURNED} does not answer after its restart: {error}") from error
                time.sleep(0.2)

    def _ask(self) -> None:
        with self.clients() as clients:
            clients.cluster(_RETURNED, "operator").topics.identity()

    def parsed(self) -> dict[str, Any]:
        """Parse the DAGs with the topology of these groups, in a process of its own."""
        folder = Path(self._lab.environ["KAFKA_DR_LAB_HOME"])
        declared = many_groups.written(Path(self._lab.environ["KAFKA_DR_TOPOLOGY"]), self._count, folder)
        environ = {**os.environ, **self._lab.environ, "KAFKA_DR_TOPOLOGY": str(declared)}
        return parsed(PROJECT / "dags", environ)


def _sleep_until(moment: datetime) -> None:
    time.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))


def _processor() -> float:
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in _ALL)


_ALL = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _outcomes(found: dict[str, WatchResult]) -> dict[str, int]:
    outcomes = [each.outcome for each in found.values()]
    return {outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)}
