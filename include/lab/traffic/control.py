"""Traffic for programs: start it, look at it, let it run dry, stop it."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import LabError
from lab.layout import NAMING, PROJECT, Role
from lab.processes import Command
from lab.traffic.app_supervisor import GRACE_SECONDS
from lab.traffic.fleet import AppSpec, fleet
from lab.traffic.logbook import read_tail
from lab.traffic.rates import Rates

if TYPE_CHECKING:
    from lab.api import Lab

NAME = "traffic"
START_SECONDS = 45.0
_SIGN_OF_WORK = frozenset({"acknowledged", "committed", "processed"})


@dataclass(frozen=True, slots=True)
class AppStatus:
    """The state of one application.

    :param worked_at: when it last wrote, settled or processed something
    """

    pid: int | None
    starts: int
    worked_at: float | None


class Traffic:
    """The applications of a lab. Their logs stay, so that what they know outlives them, as applications' data does.

    :param lab: a lab whose brokers run
    :param directory: where the logs are kept; by default ``traffic`` in the lab's folder
    :param suffix: what their names end with, if they are a second fleet next to the usual one, with the same groups
    :param route: where they find their cluster; by default the route of the lab
    :param role: what the cluster is whose clients they are, if several are used together
    """

    def __init__(
        self,
        lab: Lab,
        directory: Path | None = None,
        *,
        rates: Rates | None = None,
        suffix: str = "",
        route: Path | None = None,
        role: Role | None = None,
    ) -> None:
        self._lab, self._suffix, self._process, self._route = lab, suffix, NAME + suffix, route or lab.home.route
        self._rates, self._role = rates or Rates(), role
        self.logs = directory or lab.home.root / "traffic"

    @property
    def _fleet(self) -> Mapping[str, AppSpec]:
        return fleet(self._rates, role=self._role, suffix=self._suffix)

    @property
    def log_paths(self) -> tuple[Path, ...]:
        """The log of each application."""
        return tuple(self.logs / f"{name}.jsonl" for name in self._fleet)

    @property
    def running(self) -> bool:
        """Whether the applications are kept running."""
        return self._lab.supervisor.find(self._process) is not None

    def start(self, *, seconds: float = START_SECONDS) -> None:
        """Start the applications and wait until each of them has done something; nothing if they run.

        :raises LabError: one of them gets nothing done
        """
        if self.running:
            return
        began = time.time()
        self._lab.supervisor.start(self._command())
        self._lab.supervisor.wait(
            [self._process],
            lambda: not self.idle(since=began),
            seconds=seconds,
            expected=f"work by every application (logs in {self.logs})",
        )

    def idle(self, *, since: float) -> list[str]:
        """Applications that got nothing done since a moment."""
        return [name for name, each in self.status().items() if (each.worked_at or 0.0) < since]

    def status(self) -> Mapping[str, AppStatus]:
        """Look at every application once."""
        try:
            state = json.loads((self.logs / f"applications{self._suffix}.json").read_text())
        except (FileNotFoundError, ValueError):
            state = {}
        return {name: self._working(name, state.get(name, {})) for name in self._fleet}

    def quiesce(self) -> None:
        """End the applications that write; the others continue to read.

        :raises LabError: the applications do not run
        """
        self._lab.supervisor.signal(self._process, signal.SIGUSR1)

    def stop(self, *, drain_seconds: float = 0.0) -> None:
        """End all applications; writers first, the others ``drain_seconds`` later."""
        if drain_seconds and self.running:
            self.quiesce()
            time.sleep(drain_seconds)
        self._lab.supervisor.stop(self._process)

    def pid(self, name: str) -> int:
        """The process of an application.

        :raises LabError: it does not run
        """
        pid = self.status()[name].pid if name in self.status() else None
        if pid is None:
            raise LabError(f"the application {name!r} does not run; the lab's are {', '.join(self._fleet)}")
        return pid

    def _working(self, name: str, state: Mapping[str, int | None]) -> AppStatus:
        events = read_tail(self.logs / f"{name}.jsonl", size=64 * 1024)
        worked = [float(event["at"]) for event in events if event["event"] in _SIGN_OF_WORK]
        return AppStatus(
            pid=state.get("pid"),
            starts=state.get("starts") or 0,
            worked_at=worked[-1] if worked else None,
        )

    def _command(self) -> Command:
        self.logs.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "lab.traffic", "--home", str(self._lab.home.root), "--logs", str(self.logs)]
        argv += ["--payments-per-second", str(self._rates.payments_per_second)]
        argv += ["--slow-per-second", str(self._rates.slow_per_second)]
        argv += [f"--suffix={self._suffix}", "--route", str(self._route)]
        argv += [] if self._lab.settings.naming == NAMING else ["--copies"]
        argv += [f"--role={self._role}"] if self._role else []
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PROJECT / "include"), "PYTHONUNBUFFERED": "1"}
        return Command(
            name=self._process, argv=tuple(argv), environ=environ, folder=self.logs, grace_seconds=2 * GRACE_SECONDS
        )


class Fleets:
    """Several fleets as one, whose logs are in one folder."""

    def __init__(self, fleets: Sequence[Traffic]) -> None:
        self._fleets = fleets
        self.logs = fleets[0].logs

    @property
    def log_paths(self) -> tuple[Path, ...]:
        """The log of each application."""
        return tuple(path for each in self._fleets for path in each.log_paths)

    def start(self) -> None:
        """Start all applications, and wait until each of them has done something.

        :raises LabError: one of them gets nothing done
        """
        for each in self._fleets:
            each.start()

    def idle(self, *, since: float) -> list[str]:
        """Applications that got nothing done since a moment."""
        return [name for each in self._fleets for name in each.idle(since=since)]

    def stop(self, *, drain_seconds: float = 0.0) -> None:
        """End all applications; writers first, the others ``drain_seconds`` later."""
        if drain_seconds:
            for each in self._fleets:
                if each.running:
                    each.quiesce()
            time.sleep(drain_seconds)
        for each in self._fleets:
            each.stop()

    def pid(self, name: str) -> int:
        """The process of an application.

        :raises LabError: it does not run
        """
        return next(each for each in self._fleets if name in each.status()).pid(name)
