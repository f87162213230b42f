"""The demo from end to end: lab, adoption, applications, failovers, check of the invariants."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from lab.api import Lab
from lab.clusters import PROTECTION_GROUP
from lab.credentials import ADMIN
from lab.demo import screen, terminal_approval
from lab.demo.airflow_rest import AirflowApi, PendingApproval
from lab.demo.failover_run import DAG, DAGS_THAT_ASK, FailoverRun, FailoverRunner, RunParameters
from lab.demo.options import DemoOptions
from lab.demo.report import DemoOutcome, as_json
from lab.demo.run_evidence import RunEvidence
from lab.demo.sabotage import GROUP, Saboteur
from lab.errors import LabError
from lab.invariants.check import check_invariants
from lab.invariants.model import ActivePeriod, InvariantReport, Logs
from lab.invariants.names import Names
from lab.invariants.observe import logs_of, observe
from lab.layout import NAMING
from lab.processes import uninterrupted
from lab.rights import ORDERS_APP
from lab.status import LabStatus
from lab.traffic.control import Fleets, Traffic

OPERATOR, APPROVERS = "admin", ("alice", "bob")
DAGS = ("dr_adopt", "dr_flows", DAG)
DAG_SECONDS = 90.0
SETTING_UP_SECONDS = 120.0
WORK_AGAIN_SECONDS = 45.0


class Rehearsal:
    """Runs the demo in one lab.

    :param lab: it is started if it does not run, and then stopped at the end
    """

    #: The DAGs that it needs.
    dags: tuple[str, ...] = DAGS

    def __init__(self, lab: Lab, wishes: DemoOptions, console: Console) -> None:
        self._lab = lab
        self._wishes = wishes
        self.console = console
        self._traffic: Traffic | Fleets = Traffic(lab, rates=wishes.rates)

    @property
    def _group(self) -> str:
        """The protection group that is moved next."""
        return PROTECTION_GROUP

    @property
    def _groups(self) -> tuple[str, ...]:
        """All protection groups."""
        return (self._group,)

    def run(self) -> DemoOutcome:
        """Everything, in order.

        :raises LabError: a part of it could not be done at all
        """
        was_up = self._lab.status().in_use
        try:
            status = self._up()
            with ExitStack() as sessions:
                operator, *approvers = (
                    sessions.enter_context(closing(self._session(status, user))) for user in (OPERATOR, *APPROVERS)
                )
                self._leave_no_question(operator, approvers)
                self._set_up(operator)
                began = self._start_traffic()
                runs, sabotage = self._fail_over(operator, approvers)
            verdict = self._check(began, runs)
            return DemoOutcome(status.ready_seconds, runs, verdict, sabotage)
        finally:
            with uninterrupted(), ExitStack() as last:
                if not was_up and not self._wishes.keep:
                    last.callback(self._lab.down)
                last.callback(self._traffic.stop)

    def _up(self) -> LabStatus:
        self._say(f"{len(self._lab.clusters)} datacenters with Connect, and Airflow")
        status = self._lab.up(report=lambda what, seconds: self._did(f"{what} [dim]{seconds:.1f} s[/]"))
        self._did(f"everything answers [dim]{status.ready_seconds} s[/]; Airflow: {status.airflow.url}")
        return status

    def _session(self, status: LabStatus, user: str) -> AirflowApi:
        password = json.loads(status.airflow.passwords.read_text())[user]
        return AirflowApi(status.airflow.url, user=user, password=password)

    def _leave_no_question(self, operator: AirflowApi, approvers: Sequence[AirflowApi]) -> None:
        """End what a demo that was killed has left, which would keep the runs of this one from asking."""
        for run in self._runner(operator, approvers).withdraw_left(DAGS_THAT_ASK):
            self._did(f"{escape(run)}, which an earlier demo has left, [dim]asks nobody any more[/]")

    def _set_up(self, operator: AirflowApi) -> None:
        """Adopt the protection group and have its flow run."""
        self._say(f"Adoption of the protection group {' and '.join(self._groups)}")
        for dag in self.dags:
            operator.wait_for_dag(dag, seconds=DAG_SECONDS)
        adoptions = [("dr_adopt", {"protection_group": group}) for group in self._groups]
        for dag, conf in (*adoptions, ("dr_flows", {})):
            state, page = operator.run_to_end(dag, conf, seconds=SETTING_UP_SECONDS)
            if state != "success":
                raise LabError(f"{dag} ended as {state}: see {page}")
            self._did(f"{' '.join((dag, *conf.values()))} [dim]{state}[/]")

    def _start_traffic(self) -> float:
        began = time.time()
        self._say(f"Applications, on {self._active()}")
        self._traffic.start()
        self._did(f"{len(self._traffic.log_paths)} applications write and read; their logs: {self._traffic.logs}")
        time.sleep(self._wishes.warm_up_seconds)
        return began

    def _runner(self, operator: AirflowApi, approvers: Sequence[AirflowApi]) -> FailoverRunner:
        return FailoverRunner(
            operator,
            approvers,
            evidence=self._lab.home.evidence,
            answering=self._answer,
            show_step=lambda step: screen.tell_step(self.console, step),
            say=self._say,
        )

    def _fail_over(
        self, operator: AirflowApi, approvers: Sequence[AirflowApi]
    ) -> tuple[tuple[FailoverRun, ...], str | None]:
        """Fail over as often as wished; stop at the first run that does not go through."""
        runner = self._runner(operator, approvers)
        runs: list[FailoverRun] = []
        sabotage: str | None = None
        for number in range(1, self._wishes.switches + 1):
            if runs:
                time.sleep(self._wishes.warm_up_seconds)
            source = self._active()
            target = self._target(source)
            self._say(f"Planned failover {source} → {target} under load ({number} of {self._wishes.switches})")
            saboteur = self._saboteur() if number == self._wishes.switches else None
            runs.append(runner.run(self._order(source, target), meanwhile=watching(saboteur, source, target)))
            if saboteur is not None:
                sabotage = saboteur.result()
            self._let_work(runs[-1])
            if runs[-1].state != "success":
                break
            self._after_a_move(operator, runs[-1])
        return tuple(runs), sabotage

    def _order(self, source: str, target: str, *, dag: str = DAG, moves: bool = True, **conf: str) -> RunParameters:
        """What is to be run."""
        return RunParameters(source, target, dag, moves, conf, self._group)

    def _target(self, source: str) -> str:
        """Where the group is moved from a cluster."""
        return self._lab.target_of(source)

    def _after_a_move(self, operator: AirflowApi, run: FailoverRun) -> None:
        """Do what has to be done after a move that went through."""

    def _saboteur(self) -> Saboteur | None:
        if self._wishes.sabotage is None:
            return None
        return Saboteur(
            self._wishes.sabotage,
            admin=self._settings(ADMIN),
            application=self._settings(ORDERS_APP),
            logs=self._traffic.logs,
            reader=self._group_reader,
        )

    def _group_reader(self) -> int:
        """The process that reads with the group that saboteurs move."""
        return self._traffic.pid(GROUP)

    def _answer(self, question: PendingApproval, page: str, answered: Callable[[], bool]) -> str | None:
        terminal_approval.show(question, self.console, page=page)
        if self._wishes.yes:
            self._did(f"{terminal_approval.APPROVE}, because of --yes")
            return terminal_approval.APPROVE
        return terminal_approval.ask(self.console, answered_elsewhere=answered)

    def _let_work(self, run: FailoverRun) -> None:
        """Give the applications time to work again; the check names what does not work by then."""
        moved = run.evidence.step("flip_route") if run.moved else None
        since = moved.finished_at.timestamp() if moved else time.time()
        deadline = time.monotonic() + WORK_AGAIN_SECONDS
        while self._traffic.idle(since=since) and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(self._wishes.settle_seconds)

    def _check(self, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        self._say("Result")
        self._traffic.stop(drain_seconds=1.0)
        observation = observe(self._traffic.logs, self._settings(ADMIN), names=self._names)
        return check_invariants(observation, periods_of(began, runs))

    @property
    def _names(self) -> Names:
        settings = self._lab.settings
        return Names(() if settings.naming == NAMING else settings.names)

    def _logs_of(self, cluster: str) -> Logs:
        return logs_of(cluster, self._settings(ADMIN)[cluster], self._names)

    def _settings(self, principal: str) -> dict[str, dict[str, str]]:
        return {cluster.name: self._lab.client_settings(cluster.name, principal) for cluster in self._lab.clusters}

    def _active(self) -> str:
        """The cluster that the route names."""
        route = self._lab.home.route_of(self._group)
        try:
            return str(json.loads(route.read_text())["active"])
        except (OSError, ValueError, KeyError) as error:
            raise LabError(f"the route {route} does not say which cluster is active ({error})") from error

    def _say(self, what: str) -> None:
        self.console.print(f"\n[bold]{escape(what)}[/]")

    def _did(self, what: str) -> None:
        self.console.print(f"[green]✓[/] {what}")


def periods_of(began: float, runs: Sequence[FailoverRun]) -> list[ActivePeriod]:
    """The clusters in the order in which they were meant to be active."""
    moves = [run for run in runs if run.moved and run.approved_at]
    later = [ActivePeriod(run.target, run.approved_at.timestamp()) for run in moves if run.approved_at]
    return [ActivePeriod(runs[0].source, began), *later]


def watching(saboteur: Saboteur | None, source: str, target: str) -> Callable[[RunEvidence], None] | None:
    """What a run's evidence is shown to from its beginning: the saboteur, if there is one."""
    if saboteur is None:
        return None
    return lambda evidence: saboteur.watch(evidence, source=source, target=target)


def rehearse(rehearsal: Rehearsal, *, report: Path | None) -> int:
    """Run the demo and show what it found.

    :param report: where to write the report as JSON
    :returns: 0 if every invariant held, else 1
    """
    outcome, console = rehearsal.run(), rehearsal.console
    screen.show(outcome, console)
    if report is not None:
        draft = report.with_name(f".{report.name}.draft")
        draft.write_text(json.dumps(as_json(outcome), indent=1) + "\n")
        draft.replace(report)
        console.print(f"Report: {report}")
    return 0 if outcome.good else 1
