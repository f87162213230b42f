"""Several standbys: failovers of three clusters under load, each standby copied from the active one.

Planned ones go round all clusters. In the unplanned one the active cluster is split off while the standby that the
group moves to holds less than the other one: nobody outside of its datacenter can reach it, and the applications inside
write on, while others begin to write on the new active cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from rich.console import Console

from lab.api import Lab
from lab.demo.airflow_rest import AirflowApi
from lab.demo.disaster import DisasterRehearsal
from lab.demo.failover_run import FailoverRun
from lab.demo.options import DemoOptions
from lab.demo.rehearsal import WORK_AGAIN_SECONDS, Rehearsal
from lab.demo.switch_times import PLANNED
from lab.errors import LabError
from lab.invariants.copies import check_survivor, differing, first_hand
from lab.invariants.model import InvariantReport, Logs
from lab.traffic.control import Traffic

CLUSTERS = 3
FLOWS = "dr_flows"
#: Until every standby is copied from the new active cluster. ``dr_flows`` looks by itself every 5 minutes.
COPIED_SECONDS = 300.0
LOOK_SECONDS = 180.0
EQUAL_SECONDS = 90.0
#: As long after a move the lab's topology permits no unplanned failover (``hold_down_seconds``).
_HOLD_DOWN_SECONDS = 60.0
_ASKING_SECONDS = 2.0


class StandbysRehearsal(Rehearsal):
    """Runs the demonstration of several standbys in one lab."""

    def _target(self, source: str) -> str:
        """Each cluster in turn, so that every one becomes the active cluster, a target and the further standby."""
        names = self._lab.settings.names
        return names[(names.index(source) + 1) % len(names)]

    def _after_a_move(self, operator: AirflowApi, run: FailoverRun) -> None:
        """Wait until every standby is copied from the new active cluster, and say how long that took."""
        began, deadline = time.monotonic(), time.monotonic() + COPIED_SECONDS
        while True:
            state, page = operator.run_to_end(FLOWS, {}, seconds=LOOK_SECONDS)
            if state == "success":
                self._did(f"every standby is copied from {run.target} [dim]{time.monotonic() - began:.1f} s[/]")
                return
            if time.monotonic() > deadline:
                raise LabError(f"{FLOWS} ended as {state}: see {page}")
            time.sleep(_ASKING_SECONDS)

    def _check(self, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        """Judge the moves as those of a pair are, and that each standby ends as the same log if no run was stopped."""
        if not all(run.through for run in runs):
            return super()._check(began, runs)
        self._traffic.stop(drain_seconds=1.0)
        deadline = time.monotonic() + EQUAL_SECONDS
        while found := differing({name: self._logs_of(name) for name in self._lab.settings.names}, self._active()):
            if time.monotonic() > deadline:
                raise LabError(f"the standbys are not exact {EQUAL_SECONDS:.0f} s after the last write: {found[0]}")
            time.sleep(_ASKING_SECONDS)
        verdict = super()._check(began, runs)
        self._did(
            f"{' and '.join(each for each in self._lab.settings.names if each != self._active())} hold the "
            f"records of {self._active()}, in its order, each once"
        )
        return verdict


class MovedThenLost(StandbysRehearsal, DisasterRehearsal):
    """Moves the group once by plan, and then loses its cluster."""

    _why = "before anything is lost"

    def _fail_over(
        self, operator: AirflowApi, approvers: Sequence[AirflowApi]
    ) -> tuple[tuple[FailoverRun, ...], str | None]:
        source = self._active()
        first = self._move(self._runner(operator, approvers), source=source, target=self._target(source), why=self._why)
        if not first.through:
            return (first,), None
        self._after_a_move(operator, first)
        time.sleep(max(self._wishes.warm_up_seconds, _HOLD_DOWN_SECONDS))
        runs, sabotage = super()._fail_over(operator, approvers)
        return (first, *runs), sabotage


class StandbysDisaster(MovedThenLost):
    """Runs the demonstration of a disaster with several standbys: what any survivor holds is not lost."""

    _survivor: Logs = MappingProxyType({})

    def __init__(self, lab: Lab, wishes: DemoOptions, console: Console) -> None:
        super().__init__(lab, wishes, console)
        self._elsewhere = Traffic(lab, rates=wishes.rates, suffix="-elsewhere")

    @contextmanager
    def _lost(self, source: str) -> Iterator[None]:
        """Lose a cluster while its next standby holds less than the other one."""
        less = self._target(source)
        (more,) = {*self._lab.settings.names} - {source, less}
        self._stop_flow(source, less)
        self._did(f"nothing is copied to {less} any more; {more} gets everything")
        time.sleep(self._wishes.warm_up_seconds)
        try:
            with super()._lost(source):
                self._survivor = self._logs_of(more)
                held = first_hand(self._logs_of(less))
                lacking = first_hand(self._survivor).keys() - held.keys()
                self._did(f"{more} holds {len(lacking)} records that {less} lacks")
                yield
        finally:
            self._elsewhere.stop()
            if self._lab.settings.proxied:
                self._lab.heal(source)

    def _strike(self, source: str) -> None:
        if self._wishes.hang:
            super()._strike(source)
            return
        self._say(f"{source} is split off: its links are dead, and the applications inside write on")
        self._lab.cut(source)

    def _let_work(self, run: FailoverRun) -> None:
        """Let applications of other datacenters follow the route to the new active cluster; those inside do not ask."""
        if run.moved and run.verb != PLANNED and not self._wishes.hang:
            self._elsewhere.start(seconds=WORK_AGAIN_SECONDS * 2)
            self._did(f"applications elsewhere write to {run.target}, those inside {run.source} still to {run.source}")
        super()._let_work(run)

    def _let_return(self, source: str) -> None:
        if self._wishes.hang:
            super()._let_return(source)
            return
        self._elsewhere.stop()  # those inside follow the route as soon as they are refused, with the same groups
        self._lab.heal(source)

    def _check(self, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        """Judge as for other disasters, and that nothing is lost that a survivor had."""
        verdict = super()._check(began, runs)
        return verdict.also([check_survivor(self._survivor, self._logs_of(self._active()))])
