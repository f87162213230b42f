"""Several standbys: failovers of three clusters under load, each standby copied from the active one.

Planned ones go round all clusters. In the unplanned one the active cluster is lost while the standby that the group
moves to holds less than the other one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType

from lab.demo.airflow_rest import AirflowApi
from lab.demo.disaster import DisasterRehearsal
from lab.demo.failover_run import FailoverRun
from lab.demo.rehearsal import Rehearsal
from lab.errors import LabError
from lab.invariants.copies import check_survivor, differing, first_hand
from lab.invariants.model import InvariantReport, Logs

CLUSTERS = 3
FLOWS = "dr_flows"
#: Until every standby is copied from the new active cluster. ``dr_flows`` looks by itself every 5 minutes.
COPIED_SECONDS = 300.0
LOOK_SECONDS = 180.0
EQUAL_SECONDS = 90.0
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
            name = f"demo-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
            operator.trigger(FLOWS, name, {})
            state = operator.wait_for_end(FLOWS, name, seconds=LOOK_SECONDS)
            if state == "success":
                self._did(f"every standby is copied from {run.target} [dim]{time.monotonic() - began:.1f} s[/]")
                return
            if time.monotonic() > deadline:
                raise LabError(f"{FLOWS} ended as {state}: see {operator.page(FLOWS, name)}")
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


class StandbysDisaster(StandbysRehearsal, DisasterRehearsal):
    """Runs the demonstration of a disaster with several standbys: what any survivor holds is not lost."""

    _survivor: Logs = MappingProxyType({})

    @contextmanager
    def _lost(self, source: str) -> Iterator[None]:
        """Lose a cluster while its next standby holds less than the other one."""
        less = self._target(source)
        (more,) = {*self._lab.settings.names} - {source, less}
        self._stop_flow(source, less)
        self._did(f"nothing is copied to {less} any more; {more} gets everything")
        time.sleep(self._wishes.warm_up_seconds)
        with super()._lost(source):
            self._survivor = self._logs_of(more)
            held = first_hand(self._logs_of(less))
            lacking = first_hand(self._survivor).keys() - held.keys()
            self._did(f"{more} holds {len(lacking)} records that {less} lacks")
            yield

    def _check(self, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        """Judge as for other disasters, and that nothing is lost that a survivor had."""
        verdict = super()._check(began, runs)
        return verdict.also([check_survivor(self._survivor, self._logs_of(self._active()))])
