"""The parent of a shared application: it starts Spark and the audits, keeps each to its deadline, and writes results.

The parent has one thread and uses neither Spark nor Kafka, so that it can fork at any time, and so that nothing that
happens in an audit can stop it. An audit that hangs, or that its Kafka client aborts, is one result that is unknown.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from jobs.session import UNKNOWN
from jobs.shared.audit_process import AuditProcess, RunJob
from jobs.shared.requests import AuditEnded, AuditJob, AuditRequest, SharedRequests
from jobs.shared.spark_holder import STARTED, Hold, hold
from kafka_dr.clock import Clock
from kafka_dr.durations import duration

#: A cluster of Spark's may have to make room first.
START_SECONDS = 300.0
_STOP_SECONDS = 30.0
_FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class SharedApplication:
    """One application.

    :param jobs: what runs an audit, by its name
    :param topology: the topology file
    :param start_seconds: how long Spark may take to start
    :param holder: starts Spark in a process of its own
    """

    jobs: Mapping[AuditJob, RunJob]
    topology: Path
    clock: Clock
    start_seconds: float = START_SECONDS
    holder: Hold = hold
    _waiting: list[AuditRequest] = field(default_factory=list)
    _running: list[AuditProcess] = field(default_factory=list)
    _started: Event = field(default_factory=_FORK.Event)
    _spark_since: float = 0.0

    def run(self, asked: SharedRequests) -> None:
        """Run all audits; when this returns, each has its result."""
        orders, of_holder = multiprocessing.Pipe()
        holder = _FORK.Process(
            target=_hold, args=(self.holder, of_holder, orders, len(asked.requests)), name="spark", daemon=True
        )
        holder.start()
        of_holder.close()
        self._waiting = list(asked.requests)
        try:
            self._run(asked.side_by_side, orders, begun=self.clock.monotonic())
        finally:
            for audit in self._running:
                audit.process.kill()  # without what it has said: nobody may be there any more to read it
            orders.close()
            # A Spark that has not started has nothing to end.
            holder.join(_STOP_SECONDS if self._spark_since else 0.0)
            holder.kill()

    def _run(self, side_by_side: int, orders: Connection, *, begun: float) -> None:
        watched: Connection | None = orders
        parent = os.getppid()
        while self._waiting or self._running:
            while self._waiting and len(self._running) < side_by_side:
                self._begin(self._waiting.pop(0), orders)
            ready = wait([*self._waited_for(), *([watched] if watched else [])], timeout=1.0)
            if watched in ready and (problem := self._heard(orders)):
                watched = None
                if self._spark_is_lost(problem):
                    return
            if os.getppid() != parent:
                return  # spark-submit was killed: nobody would journal what the audits file from now on
            if not self._spark_since and self.clock.monotonic() - begun > self.start_seconds:
                self._give_up(
                    f"Spark did not start within {duration(self.start_seconds)}: look at its cluster and its log"
                )
                return
            self._look(ready, orders)

    def _begin(self, request: AuditRequest, orders: Connection) -> None:
        audit = AuditProcess.begin(
            request,
            self.jobs[request.audit],
            self.topology,
            started=self._started,
            foreign=orders,
            now=self.clock.monotonic(),
        )
        self._running.append(audit)

    def _waited_for(self) -> list[Any]:
        return [each for audit in self._running for each in audit.waited_for]

    def _heard(self, orders: Connection) -> str:
        """Take what the process that holds Spark says; return why there is no Spark, if there is none."""
        try:
            said = str(orders.recv())
        except (EOFError, OSError):
            return "the process that held Spark ended: look at the log above"
        if said == STARTED:
            self._spark_since = self.clock.monotonic()
            self._started.set()
            return ""
        return said

    def _spark_is_lost(self, problem: str) -> bool:
        """Give up if Spark never started. If it did, the audits notice by themselves that it is gone."""
        if not self._spark_since:
            self._give_up(problem)
        return not self._spark_since

    def _give_up(self, problem: str) -> None:
        now = self.clock.monotonic()
        for audit in self._running:
            audit.kill()
            audit.ended(now, because=problem).write(audit.request.ended)
            audit.close()
        for request in self._waiting:
            AuditEnded(UNKNOWN, problem, 0.0).write(request.ended)
        self._running, self._waiting = [], []

    def _look(self, ready: list[Any], orders: Connection) -> None:
        """Take what the audits say, and end those that are over or out of time."""
        now = self.clock.monotonic()
        for audit in list(self._running):
            if audit.control in ready:
                audit.hear()
            if audit.output in ready and not audit.read_output():
                self._finish(audit, orders, now)
            elif self._spark_since and now - max(audit.began, self._spark_since) > audit.request.deadline_seconds:
                audit.kill()
                self._finish(audit, orders, now, because=_late(audit.request))

    def _finish(self, audit: AuditProcess, orders: Connection, now: float, *, because: str = "") -> None:
        self._running.remove(audit)
        audit.ended(now, because=because).write(audit.request.ended)
        if audit.tag:  # its process is over, and what it had asked of Spark may still run
            with suppress(OSError):
                orders.send(audit.tag)
        audit.close()


def _hold(holder: Hold, orders: Connection, foreign: Connection, count: int) -> None:
    """Hold Spark without the other end of the pipe: while this process has it, it never sees that it was closed."""
    foreign.close()
    holder(orders, count)


def _late(request: AuditRequest) -> str:
    return (
        f"no result within {duration(request.deadline_seconds)}, so it was ended, and nothing was judged: look at what "
        "the log shows last of it, and at the load of Spark; the next audit continues from what is kept"
    )
