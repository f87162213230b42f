"""Active-active use: three clusters take writes, each from its own clients, and hold copies of what the others take.

The clients of one member leave by plan and come back. Another member is lost with records that nobody else holds; its
clients go to a third one, its records arrive late, and its clients come back as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rich.console import Console

from lab.api import Lab
from lab.clusters import clients_of
from lab.demo.airflow_rest import AirflowApi
from lab.demo.disaster import DisasterRehearsal
from lab.demo.failover_run import FailoverRun
from lab.demo.options import DemoOptions
from lab.demo.rehearsal import periods_of
from lab.demo.standbys import EQUAL_SECONDS
from lab.invariants.copies import differing
from lab.invariants.members import check_members
from lab.invariants.model import ActivePeriod, InvariantReport, Observation
from lab.traffic.control import Fleets, Traffic

_ASKING_SECONDS = 2.0
#: How much less each fleet writes than that of a pair: three fleets, and six flows instead of one.
RECORDS_COST = 10


class MembersRehearsal(DisasterRehearsal):
    """Runs the demonstration of active-active use in one lab."""

    def __init__(self, lab: Lab, wishes: DemoOptions, console: Console) -> None:
        super().__init__(lab, wishes, console)
        self._moved, *_, self._lost_member = self._movable
        self._member = self._moved
        # Every record is copied by several flows, each of which commits a transaction for what it finds at a time.
        rates = replace(wishes.rates, payments_per_second=wishes.rates.payments_per_second / RECORDS_COST)
        self._fleets = {
            name: Traffic(
                lab,
                rates=rates,
                suffix=f"-{name}",
                route=lab.home.route_of(clients_of(name)),
                role=lab.settings.role(name),
            )
            for name in lab.settings.names
        }
        self._traffic = Fleets(list(self._fleets.values()))

    @property
    def _movable(self) -> tuple[str, ...]:
        """The members between which clients are moved."""
        return self._lab.settings.hubs or self._lab.settings.names

    @property
    def _group(self) -> str:
        return clients_of(self._member)

    @property
    def _groups(self) -> tuple[str, ...]:
        return tuple(map(clients_of, self._lab.settings.names))

    def _target(self, source: str) -> str:
        """The member whose clients they are, or from there the next one."""
        following = dict(pairwise([*self._movable, self._movable[0]]))
        return following[source] if source == self._member else self._member

    def _fail_over(
        self, operator: AirflowApi, approvers: Sequence[AirflowApi]
    ) -> tuple[tuple[FailoverRun, ...], str | None]:
        """Move the clients of one member and bring them back, then lose another member."""
        runner, runs = self._runner(operator, approvers), list[FailoverRun]()
        home, other = self._moved, self._target(self._moved)
        for source, target, what in ((home, other, "leave it"), (other, home, "come back")):
            runs.append(self._move(runner, source=source, target=target, why=f"the clients of {home} {what}"))
            if not runs[-1].through:
                return tuple(runs), None
            time.sleep(self._wishes.warm_up_seconds)
        self._member = self._lost_member
        lost, sabotage = super()._fail_over(operator, approvers)
        return (*runs, *lost), sabotage

    def _strand(self, source: str, target: str) -> None:
        """Let applications write for a while what no other member has."""
        for origin, target in self._lab.settings.flows:
            if origin == source:
                self._stop_flow(source, target)
        self._did(f"nothing is copied from {source} any more")
        time.sleep(self._wishes.settle_seconds)

    def _judge(self, observation: Observation, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        return check_members(observation, self._periods(began, runs), left=self._left, hubs=self._lab.settings.hubs)

    def _check(self, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        """Judge once each member has what the others took, if no run was stopped."""
        self._traffic.stop(drain_seconds=1.0)
        deadline = time.monotonic() + EQUAL_SECONDS
        while all(run.through for run in runs) and time.monotonic() < deadline:
            logs = {name: self._logs_of(name) for name in self._lab.settings.names}
            if not differing(logs, holding=self._movable):
                break
            time.sleep(_ASKING_SECONDS)
        return super()._check(began, runs)

    def _periods(self, began: float, runs: Sequence[FailoverRun]) -> dict[str, list[ActivePeriod]]:
        """The clusters on which the clients of each member were meant to be, in their order."""
        of = {name: [run for run in runs if run.group == clients_of(name)] for name in self._lab.settings.names}
        return {name: periods_of(began, moves) if moves else [ActivePeriod(name, began)] for name, moves in of.items()}
