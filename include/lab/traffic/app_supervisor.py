"""Keeps the applications running: it starts each in a process of its own, and again whenever it ends.

The processes are forked from this one, which has everything imported, so that a restart costs milliseconds. This
process never opens a Kafka client itself: threads of a client would not survive the fork. An application that waits for
its restart starts at once when the route changes, as those do that watch their configuration.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NoReturn

from confluent_kafka import KafkaException

from lab.traffic.application import Application, Ended, ended_by, find_access
from lab.traffic.fleet import AppSpec
from lab.traffic.logbook import Logbook

# Longer each time while it dies young, so that a crash loop leaves the machine alone; who only reads can wait longer.
RESTART_SECONDS = (0.1, 0.2, 0.4)
READER_RESTART_SECONDS = (0.1, 0.4, 0.8, 1.6)
YOUNG_SECONDS = 2.0
GRACE_SECONDS = 8.0
LOOK_SECONDS = 0.01
#: What differs between two versions of the route's file: the number of its inode and its time in nanoseconds.
_RouteVersion = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where applications find their cluster and keep their logs.

    :param suffix: what their names end with
    """

    route: Path
    clients: Path
    logs: Path
    suffix: str = ""

    @property
    def state(self) -> Path:
        """Which application runs as which process."""
        return self.logs / f"applications{self.suffix}.json"


@dataclass(slots=True)
class _Running:
    job: AppSpec
    pid: int | None = None
    starts: int = 0
    started: float = 0.0
    died_young: int = 0
    due: float = 0.0
    #: Of the route with which it started last: one that changed since then has not been tried.
    route: _RouteVersion | None = None

    def is_due(self, now: float, route: _RouteVersion | None) -> bool:
        """Whether its pause is over, or there is a route that it has not tried."""
        return now >= self.due or route != self.route

    def ended(self, now: float) -> None:
        """Note the end of an incarnation, and when the next one is due."""
        self.pid = None
        self.died_young = self.died_young + 1 if now - self.started < YOUNG_SECONDS else 0
        pauses = RESTART_SECONDS if self.job.writes is not None else READER_RESTART_SECONDS
        self.due = now + pauses[min(self.died_young, len(pauses) - 1)]


class AppSupervisor:
    """Supervises the fleet until it is stopped.

    SIGUSR1 ends the applications that write, so that the others can catch up; SIGTERM ends everything.

    :param follow: whether applications leave a cluster that refuses them nothing, when their route names another one
    """

    def __init__(self, jobs: Mapping[str, AppSpec], folders: Folders, *, follow: bool = False) -> None:
        self._folders, self._follow = folders, follow
        self._running = {name: _Running(job) for name, job in jobs.items()}
        self._quiet = False
        self._ending = False
        self._told: str | None = None

    def run(self) -> None:
        """Keep all applications running; return when all have ended after SIGTERM."""
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, self._end)
        signal.signal(signal.SIGUSR1, self._hush)
        while not self._ending:
            self._look()
            self._tell()
            time.sleep(LOOK_SECONDS)
        self._stop(list(self._running.values()))
        self._tell()

    def _look(self) -> None:
        self._reap()
        now, route = time.monotonic(), _version(self._folders.route)
        if self._follow and route is not None:
            self._stop([each for each in self._running.values() if each.pid is not None and each.route != route])
        for each in self._running.values():
            hushed = self._quiet and each.job.writes is not None
            if each.pid is None and not hushed and each.is_due(now, route):
                each.starts += 1
                each.started, each.route = now, route
                each.pid = self._fork(each.job)
            elif each.pid is not None and hushed:
                self._stop([each])

    def _reap(self) -> None:
        for each in self._running.values():
            if each.pid is not None and os.waitpid(each.pid, os.WNOHANG)[0]:
                each.ended(time.monotonic())

    def _stop(self, running: list[_Running]) -> None:
        for each in running:
            if each.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(each.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while any(each.pid for each in running) and time.monotonic() < deadline:
            self._reap()
            time.sleep(LOOK_SECONDS)
        for each in running:
            if each.pid is not None:
                os.kill(each.pid, signal.SIGKILL)
                os.waitpid(each.pid, 0)
                each.pid = None

    def _fork(self, job: AppSpec) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                live(job, self._folders, leave=os._exit)
            finally:
                os._exit(70)  # this process is a copy: it must not run the supervisor's own exit
        return pid

    def _tell(self) -> None:
        """Write which process is which, when it changed."""
        state = json.dumps({name: {"pid": each.pid, "starts": each.starts} for name, each in self._running.items()})
        if state != self._told:
            self._told = state
            draft = self._folders.state.with_suffix(".draft")
            draft.write_text(state + "\n")
            draft.replace(self._folders.state)

    def _end(self, _number: int, _frame: object) -> None:
        self._ending = True

    def _hush(self, _number: int, _frame: object) -> None:
        self._quiet = True


def _version(route: Path) -> _RouteVersion | None:
    """Return the version of the route's file; ``None`` if there is none."""
    try:
        found = route.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def live(job: AppSpec, folders: Folders, *, leave: Callable[[int], NoReturn]) -> NoReturn:
    """Be one incarnation of an application, from its start to its end.

    :param leave: ends this process with an exit code: 0 stopped, 1 refused or cut off. It is called while the clients
        still exist, because to free one may take for ever if its cluster is dead
    """
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    keeper = os.getppid()
    with Logbook(folders.logs / f"{job.name}.jsonl", now=time.time) as log:
        try:
            application = Application(
                name=job.name,
                access=find_access(folders.route, folders.clients, principal=job.principal),
                log=log,
                stopping=lambda: bool(asked) or os.getppid() != keeper,
                now=time.time,
                random=Random(f"{job.name}/{os.getpid()}"),  # noqa: S311 - which offsets to hold back is no secret
            )
            if job.writes is not None:
                application.check_right_to_write(job.writes)
            job.run(application)
        except Ended as end:
            log.write("exit", reason=str(end))
            leave(1)
        except KafkaException as error:
            log.write("exit", reason=str(ended_by(error)))
            leave(1)
        log.write("exit", reason="stopped")
        leave(0)
