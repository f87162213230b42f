"""The checksum audit next to ConsumerPerformance, Spark's count and a full outer join: same topics, same run."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from lab import credentials, jars, java
from lab.api import Lab
from lab.bench import audit_cores, logs, quiet_audits
from lab.bootstrap import cache_folder
from lab.clusters import EAST, WEST
from lab.errors import LabError
from lab.jvm import Jvm
from lab.submitted import audit_argv, audit_environ, done, spark_submit

FLOW = "orders.east-to-west"
_WARM = Path(__file__).with_name("warm.py")
_COLD_ROUNDS, _WARM_ROUNDS = 2, 3
_LIMITS = {
    "audit_over_count": ("at most", 1.25),
    "join_over_audit": ("at least", 5.0),
    "faulty_over_equal": ("at most", 1.4),
    "cold_over_consumers": ("at most", 3.0),
    "memory_gb": ("at most", 3.0),
    "incremental_seconds": ("at most", 15.0),
    "shared_quiet_seconds": ("at most", 8.0),
}


def run(options: argparse.Namespace, console: Console) -> int:
    """Bring a lab up, measure, write the report, and take the lab down unless it was up before.

    :returns: 0 if every figure is within its limit, else 1; by cores there is no limit
    :raises LabError: there are too few records or too many cores
    """
    if options.records < 100 * logs.FAULTS:
        raise LabError(f"--records is {options.records}: {logs.FAULTS} faults need at least {100 * logs.FAULTS}")
    cores = audit_cores.numbers(options.cores)
    lab = Lab(options.home, port_base=options.port_base, spark_cluster=bool(cores))
    was_up = lab.status().in_use
    lab.up(airflow=False)
    try:
        if cores:
            report = audit_cores.measure(lab, options.records, cores, console)
        else:
            report = _AuditBench(lab, options.records, console).measure()
    finally:
        if not was_up:
            lab.down(delete=True)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if cores else _judged(report, console)


def _judged(report: Mapping[str, Any], console: Console) -> int:
    """Print each figure that has a limit; return 0 if all are within theirs, else 1."""
    missed = 0
    for name, (side, limit) in _LIMITS.items():
        good = report[name] <= limit if side == "at most" else report[name] >= limit
        missed += not good
        console.print(f"{'[green]✓[/]' if good else '[red]✗[/]'} {name} {report[name]} ({side} {limit:g})")
    return 1 if missed else 0


class _AuditBench:
    """One run.

    :param records: of 200 B on each cluster
    """

    def __init__(self, lab: Lab, records: int, console: Console) -> None:
        self._lab = lab
        self._records = records
        self._console = console
        self._shapes = logs.shapes(records)
        self._equal = [shape.topic for shape in self._shapes if not shape.faults]
        self._faulty = [shape.topic for shape in self._shapes if shape.faults]
        self._out = lab.home.root / "spark" / "bench"
        self._environ = audit_environ(lab)

    def measure(self) -> dict[str, Any]:
        """Write the logs, measure, and return the report."""
        self._timed("logs written", self._write_logs)
        consumers = [self._timed("consumers, cold", self._consume) for _ in range(_COLD_ROUNDS)]
        peaks: list[float] = []
        cold = [self._timed("audit, cold", lambda: peaks.append(self._audit("--full"))) for _ in range(_COLD_ROUNDS)]
        incremental = self._timed("audit of a quiet flow, cold", self._audit)
        shared = quiet_audits.measure(self._lab, self._console)
        laps = {"quiet, cold": self._laps("cold")}
        found = self._faults_found()
        measured = self._warm()
        warmed: dict[str, list[float]] = measured["seconds"]
        laps |= {f"{which}, warm": self._laps(f"warm/{which}") for which in ("equal", "faulty")}
        best = {name: statistics.median(seconds) for name, seconds in warmed.items()}
        return {
            "audit_over_count": round(best["audit"] / best["count"], 2),
            "join_over_audit": round(best["join"] / best["audit"], 2),
            "join_over_count": round(best["join"] / best["count"], 2),
            "hash_join_over_audit": round(best["hash_join"] / best["audit"], 2),
            "joined": measured["joined"],
            "faulty_over_equal": round(best["faulty"] / best["audit"], 2),
            "cold_over_consumers": round(min(cold) / min(consumers), 2),
            "memory_gb": round(max(peaks), 2),
            "incremental_seconds": round(incremental, 2),
            "shared_quiet_seconds": shared["seconds_of_one"],
            "shared_quiet": shared,
            "records": 2 * sum(shape.records for shape in self._shapes if not shape.faults),
            "bytes_per_fingerprint": self._bytes_per_fingerprint(),
            "faults_made": logs.FAULTS,
            "faults_found": found,
            "seconds": {"warm": warmed, "consumers": consumers, "audit_cold": cold},
            "laps": laps,
            "machine": {"processors": os.cpu_count(), "python": sys.version.split()[0]},
        }

    def _write_logs(self) -> None:
        names = [EAST.name, WEST.name]
        logs.write({name: self._lab.client_settings(name, credentials.ADMIN) for name in names}, self._shapes)

    def _consume(self) -> None:
        """Let Kafka's own tool read every topic of both clusters, a process each."""
        environ = dict(os.environ)
        jvm = Jvm(
            java_home=java.java_home(environ),
            jars=jars.obtain(jars.KAFKA, cache=cache_folder(environ), environ=environ, progress=lambda _d, _o: None),
        )
        folder = self._lab.home.root / "spark"
        for cluster in (EAST, WEST):
            access = self._lab.home.java_client(cluster.name, credentials.ADMIN)
            for shape in self._shapes:
                if shape.faults:
                    continue
                argv = jvm.argv(
                    "org.apache.kafka.tools.ConsumerPerformance",
                    *("--bootstrap-server", cluster.bootstrap(self._lab.settings), "--topic", shape.topic),
                    *("--num-records", str(shape.records), "--command-config", str(access)),
                    *("--group", f"bench-{time.monotonic_ns()}", "--hide-header"),
                    heap_megabytes=512,
                    folder=folder,
                )
                done(argv, environ, expected=(0,))

    def _audit(self, *more: str) -> float:
        """Audit by hand, in a process of its own, and return the most memory that it and its children had, in GB."""
        out = str(self._out / "cold")
        argv = audit_argv(self._lab, "--flow", FLOW, "--out", out, "--topics", *self._equal, *more)
        with PeakMemory() as memory:
            done(argv, self._environ, expected=(0,), started=memory.watch)
        return memory.peak_gb

    def _faults_found(self) -> int:
        argv = audit_argv(self._lab, "--flow", FLOW, "--out", str(self._out / "faults"), "--topics", *self._faulty)
        self._timed("audit of the faulty topics, cold", lambda: done(argv, self._environ, expected=(1,)))
        return len((self._out / "faults" / "findings.jsonl").read_text().splitlines())

    def _laps(self, out: str) -> dict[str, float]:
        """Return what an audit spent its time on, after its process had started."""
        laps: dict[str, float] = json.loads((self._out / out / "report.json").read_text())["seconds"]
        return laps

    def _bytes_per_fingerprint(self) -> float:
        report = json.loads((self._out / "faults" / "report.json").read_text())
        return round(float(report["log_bytes"]) / float(report["records_read"]), 2)

    def _warm(self) -> dict[str, Any]:
        wanted = {
            "topology": self._lab.environ["KAFKA_DR_TOPOLOGY"],
            "flow": FLOW,
            "out": str(self._out / "warm"),
            "clusters": [EAST.name, WEST.name],
            "equal": self._equal,
            "faulty": self._faulty,
            "rounds": _WARM_ROUNDS,
        }
        argv = [str(spark_submit()), str(_WARM), json.dumps(wanted)]
        done(argv, self._environ, expected=(0,))
        measured: dict[str, Any] = json.loads((self._out / "warm" / "seconds.json").read_text())
        for name, seconds in measured["seconds"].items():
            self._console.print(f"{name}, warm: {', '.join(f'{each:.1f}' for each in seconds)} s")
        return measured

    def _timed(self, what: str, do: Callable[[], object]) -> float:
        began = time.monotonic()
        do()
        seconds = time.monotonic() - began
        self._console.print(f"{what}: {seconds:.1f} s")
        return seconds


class PeakMemory:
    """The most memory that a process and its children had: the sum of what each had at its worst moment."""

    def __init__(self) -> None:
        self._peaks: dict[int, int] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def peak_gb(self) -> float:
        """That sum; what processes share is counted for each of them."""
        return sum(self._peaks.values()) / 1024**2

    def watch(self, pid: int) -> None:
        """Begin to look at a process."""
        self._thread = threading.Thread(target=self._look, args=(psutil.Process(pid),))
        self._thread.start()

    def _look(self, process: psutil.Process) -> None:
        # The kernel keeps each process's peak: looking seldom misses little, and takes little from what is measured.
        while not self._over.wait(1.0):
            with suppress(psutil.NoSuchProcess, OSError):
                for each in (process, *process.children(recursive=True)):
                    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{each.pid}/status").read_text())
                    if found:
                        self._peaks[each.pid] = int(found[1])

    def __enter__(self) -> PeakMemory:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
