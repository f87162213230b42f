"""The disaster: the active cluster is lost under load, the group fails over, the old cluster is fenced and rebuilt."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kafka_dr.clock import SystemClock
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.flow import Flow
from lab.clusters import PROTECTION_GROUP
from lab.credentials import ADMIN, CONTENT_KEY, passwords_of
from lab.demo.airflow_rest import AirflowApi
from lab.demo.disaster_sabotage import DisasterSaboteur
from lab.demo.failover_run import FailoverRun, FailoverRunner
from lab.demo.rehearsal import DAGS, Rehearsal, periods_of, watching
from lab.demo.run_evidence import RunEvidence
from lab.demo.sabotage import Saboteur
from lab.demo.stray_producer import StrayProducer
from lab.demo.switch_times import PLANNED
from lab.errors import LabError
from lab.invariants.audits import audits_in, check_audits
from lab.invariants.check import check_invariants, not_judged
from lab.invariants.deletions import Agreed, Ids, check_deletions, topic_ids
from lab.invariants.model import (
    FormerLogs,
    InvariantReport,
    InvariantResult,
    LateRecords,
    Logs,
    LostCluster,
    Observation,
)
from lab.invariants.observe import observe
from lab.invariants.secrets import check_secrets, connector_configs
from lab.layout import NAMING
from lab.rights import ORDERS_APP

UNPLANNED, HEALTH, FAILBACK, CANARY = "dr_unplanned_failover", "dr_health", "dr_failback", "dr_canary"
BACK_SECONDS = 90.0
#: A health period, and what a look may take on a machine that does ten things at a time.
FENCED_SECONDS = 90.0
PATIENCE_SECONDS = 180.0
#: What a protection group's topics begin with.
OWNED = f"{PROTECTION_GROUP}."
#: What no run in which every answer came, and which nobody interrupted, can show.
NOT_JUDGED = (
    not_judged("I5", "where every answer came: the tests make answers fail"),
    not_judged("I6", "where nothing was interrupted: the tests interrupt every step after each of its changes"),
)
FORGOTTEN_AT_ONCE, FORGOTTEN_SECONDS = 5, 0.5
_STOPPED_SECONDS = 30.0


class DisasterRehearsal(Rehearsal):
    """Runs the demonstration of a disaster in one lab."""

    dags: tuple[str, ...] = (*DAGS, UNPLANNED, HEALTH, FAILBACK, CANARY)
    _left: LostCluster | None = None
    _earlier: tuple[FormerLogs, ...] = ()
    #: What the target held before late records could arrive.
    _there: Logs = MappingProxyType({})
    _before: Ids = MappingProxyType({})

    def _fail_over(
        self, operator: AirflowApi, approvers: Sequence[AirflowApi]
    ) -> tuple[tuple[FailoverRun, ...], str | None]:
        """Everything between the kill and the failback; stop at the first run that does not succeed."""
        runner = self._runner(operator, approvers)
        source = self._active()
        target = self._target(source)
        saboteur = self._saboteur()
        self._watch(operator)
        self._before = self._topic_ids()
        with self._lost(source):
            runs = [self._leave(runner, source, target, saboteur)]
            if runs[-1].through:
                self._welcome(runs[0])
        if runs[-1].through:
            self._after_a_move(operator, runs[0])
            runs.append(self._bring_home(runner, runs[0]))
        if runs[-1].through:
            home = self._target(target)
            why = "back to the cluster that was lost" if home == source else "home"
            runs.append(self._move(runner, source=target, target=home, why=why))
        if runs[-1].through:
            self._after_a_move(operator, runs[-1])
        return tuple(runs), saboteur.result() if saboteur is not None else None

    def _watch(self, operator: AirflowApi) -> None:
        """Let the canary look: it does every minute, and what it saw last is all that is known of a dead cluster."""
        state, _ = operator.run_to_end(CANARY, {}, seconds=PATIENCE_SECONDS)
        self._did(f"{CANARY} [dim]{state}[/]")

    @contextmanager
    def _lost(self, source: str) -> Iterator[None]:
        """Lose a cluster with its Connect. Whatever happens meanwhile, afterwards none of its processes hangs."""
        if self._strands:
            self._strand(source, self._target(source))
        try:
            self._strike(source)
            yield
        finally:
            if self._wishes.hang:
                self._wake(self._processes_of(source))

    @property
    def _arrives_late(self) -> bool:
        """Whether copies have other names, so that what a lost cluster alone holds arrives in them when it is back."""
        return self._lab.settings.naming != NAMING

    @property
    def _strands(self) -> bool:
        """Whether the disaster has to take something; else it takes what replication happens to be late with."""
        sabotage = self._wishes.sabotage
        return self._arrives_late or (sabotage is not None and sabotage.is_about_stranded)

    def _strike(self, source: str) -> None:
        """Let the disaster happen."""
        if self._wishes.hang:
            self._say(f"{source} hangs: its brokers and its Connect are stopped under load, their connections open")
        else:
            self._say(f"{source} dies: its brokers and its Connect are killed under load")
        for name in self._processes_of(source):
            (self._lab.pause if self._wishes.hang else self._lab.kill)(name)

    def _let_return(self, source: str) -> None:
        """Let it be over."""
        if self._wishes.hang:
            self._wake(self._processes_of(source))
        else:
            for name in self._processes_of(source):
                self._lab.restart(name)

    def _stop_flow(self, source: str, target: str) -> None:
        """Let nothing be copied to a cluster any more."""
        with self._connect_of(target) as connect:
            connect.stop(Flow(self._group, source, target).name)
        self._wait_until_stopped(source, target, seconds=_STOPPED_SECONDS)

    def _strand(self, source: str, target: str) -> None:
        """Let applications write for a while what is not copied."""
        self._stop_flow(source, target)
        self._did(f"nothing is copied from {source} to {target} any more")
        time.sleep(self._wishes.settle_seconds)

    def _wait_until_stopped(self, source: str, target: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a flow is stopped; dr_health stops one that a cluster which came back has started again."""
        with self._connect_of(target) as connect:
            connect.wait_for(Flow(self._group, source, target).name, "stopped", deadline_seconds=seconds)

    def _connect_of(self, cluster: str) -> ConnectClient:
        return ConnectClient(HttpEndpoint(self._connect_urls()[cluster]), clock=SystemClock())

    def _wake(self, names: Sequence[str]) -> None:
        """Let processes continue. One that ended meanwhile is none that hangs."""
        for name in names:
            with suppress(LabError):
                self._lab.resume(name)

    def _leave(self, runner: FailoverRunner, source: str, target: str, saboteur: Saboteur | None) -> FailoverRun:
        self._say(f"Unplanned failover {source} → {target}")
        run = runner.run(self._order(source, target, dag=UNPLANNED), meanwhile=watching(saboteur, source, target))
        self._let_work(run)
        return run

    def _welcome(self, run: FailoverRun) -> None:
        """Let the lost cluster return, with an application that does not know of the failover."""
        source = run.source
        if self._arrives_late:
            self._there = self._logs_of(run.target)
        self._say(f"{source} comes back, and a forgotten application with it")
        self._let_return(source)
        reachable = self._wait_until_back(source)
        forgotten = StrayProducer(source, self._settings(ORDERS_APP)[source], logs=self._traffic.logs)
        written, fenced = 0, None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while fenced is None:
            if time.monotonic() > deadline:
                raise LabError(f"{source} was back for {PATIENCE_SECONDS:.0f} s and {HEALTH} has not fenced it")
            written += forgotten.write(FORGOTTEN_AT_ONCE)
            time.sleep(FORGOTTEN_SECONDS)
            fenced = run.evidence.step("fence_on_return")
        at = datetime.fromisoformat(fenced.facts["fenced_at"]).timestamp()
        self._did(f"{fenced.sentence} [dim]{at - reachable:.1f} s after it could be reached; {written} written[/]")
        approved = run.approved_at.timestamp() if run.approved_at else 0.0
        self._left = LostCluster(source, approved, reachable, at, FENCED_SECONDS, predicted_loss(run.evidence))

    def _bring_home(self, runner: FailoverRunner, left: FailoverRun) -> FailoverRun:
        """Keep the stranded records, publish them again, and make the old cluster a copy; or let them arrive late."""
        if self._arrives_late:
            return self._deliver_late(runner, left)
        self._say(f"Failback: {left.source} becomes a copy of {left.target}")
        self._earlier = (FormerLogs(left.source, time.time(), self._logs_of(left.source)),)
        conf = {"mode": "rebuild", "rescue": "republish"}
        return runner.run(self._order(left.target, left.source, dag=FAILBACK, moves=False, **conf))

    def _deliver_late(self, runner: FailoverRunner, left: FailoverRun) -> FailoverRun:
        """Let what the lost cluster alone holds arrive in its copies, once the list of it is approved."""
        self._say(f"Failback: what {left.source} alone holds arrives late, once that is approved")
        if self._left is not None:
            late = LateRecords(left.target, self._there, self._logs_of(left.source))
            self._left = replace(self._left, late=late)
        return runner.run(self._order(left.target, left.source, dag=FAILBACK, moves=False))

    def _move(self, runner: FailoverRunner, *, source: str, target: str, why: str) -> FailoverRun:
        self._say(f"Planned failover {source} → {target}: {why}")
        run = runner.run(self._order(source, target))
        self._let_work(run)
        return run

    def _check(self, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        self._say("Result")
        self._traffic.stop(drain_seconds=1.0)
        left = next((run for run in runs if run.verb != PLANNED), runs[0])
        listed = self._lists / left.group / left.run
        observation = observe(
            self._traffic.logs,
            self._settings(ADMIN),
            stranded_list=(listed, self._content_key, left.source) if listed.exists() else None,
            quarantine={left.source: quarantine(runs)},
            earlier=self._earlier,
            names=self._names,
        )
        return self._judge(observation, began, runs).also([*NOT_JUDGED, *self._keeping(observation, runs)])

    def _judge(self, observation: Observation, began: float, runs: Sequence[FailoverRun]) -> InvariantReport:
        """Check what applications and clusters say."""
        return check_invariants(observation, periods_of(began, runs), left=self._left)

    def _keeping(self, observation: Observation, runs: Sequence[FailoverRun]) -> tuple[InvariantResult, ...]:
        """Check deletions, passwords, and what the audits said."""
        ids = self._topic_ids()
        audited = self._lab.home.evidence / "audits"
        audits = [each for group in self._groups for each in audits_in(audited / group / "checksum")]
        connect = list(self._connect_urls().values())
        argv = self._lab.supervisor.argv()
        return (
            check_deletions(self._before, ids, agreed=agreed_to(runs)),
            check_secrets(
                self._lab.home.root, passwords_of(self._lab.home), argv=argv, connectors=connector_configs(connect)
            ),
            check_audits(audits, logs=observation.logs, ids=ids, names=self._names),
        )

    def _topic_ids(self) -> Ids:
        """The topics of the protection group, and its copies, on each cluster."""
        prefixes = {name for each in self._lab.settings.names for name in self._names.on(each, [OWNED])}
        return topic_ids(self._settings(ADMIN), prefixes=tuple(prefixes))

    def _saboteur(self) -> Saboteur | None:
        if self._wishes.sabotage is None:
            return None
        return DisasterSaboteur(
            self._wishes.sabotage,
            admin=self._settings(ADMIN),
            application=self._settings(ORDERS_APP),
            logs=self._traffic.logs,
            reader=self._group_reader,
            connect=self._connect_urls(),
            stranded_lists=self._lists,
            content_key=self._content_key,
        )

    def _connect_urls(self) -> dict[str, str]:
        settings = self._lab.settings
        return {name: self._lab.cluster(name).connect_url(settings) for name in sorted(settings.connect)}

    @property
    def _content_key(self) -> str:
        return passwords_of(self._lab.home)[CONTENT_KEY]

    @property
    def _lists(self) -> Path:
        return self._lab.home.evidence / "stranded"

    def _processes_of(self, cluster: str) -> list[str]:
        """The processes of one datacenter, brokers first."""
        return sorted(name for name in self._lab.supervisor.names() if name.startswith(f"{cluster}-"))

    def _wait_until_back(self, cluster: str) -> float:
        """Wait until a cluster answers, and return when it did.

        :raises NotReady: a broker of it ended, or it did not answer in time; the end of its log is in the message
        """
        with AdminClient({**self._settings(ADMIN)[cluster], "client.id": "demo", "log_level": 2}) as admin:
            brokers = [name for name in self._processes_of(cluster) if "-broker-" in name]
            self._lab.supervisor.wait(
                brokers, lambda: _answers(admin), seconds=BACK_SECONDS, expected=f"an answer from {cluster}"
            )
        return time.time()


def _answers(admin: AdminClient) -> bool:
    try:
        admin.list_topics(timeout=1.0)
    except KafkaException:
        return False
    return True


def predicted_loss(evidence: RunEvidence) -> int | None:
    """How many records the approval said would be lost at least; ``None`` where it said nothing."""
    records = measured_before(evidence).get("predicted_loss", {}).get("at_least_records")
    return None if records is None else int(records)


def measured_before(evidence: RunEvidence) -> dict[str, Any]:
    """What an unplanned failover showed to its approvers; empty where it did not get so far."""
    step = evidence.step("gather_evidence")
    measured: dict[str, Any] = step.facts.get("measurements", {}) if step else {}
    return measured


def agreed_to(runs: Sequence[FailoverRun]) -> Agreed | None:
    """What a failback was allowed to delete, as it was shown, and who allowed it; ``None`` where there was none."""
    run = next((run for run in runs if not run.moves), None)
    shown = run.evidence.step("preflight") if run else None
    if run is None or shown is None:
        return None
    deletes = by_name(shown.facts.get("decision", {}).get("deletes", ()), **ID_OF_A_TOPIC)
    return Agreed(run.target, deletes, run.approved_by)


def quarantine(runs: Sequence[FailoverRun]) -> list[str]:
    """The ranges that a failback left in quarantine in the logs of the old cluster."""
    reports = [run.evidence.step("report") for run in runs if not run.moves]
    return [text for step in reports if step is not None for text in step.facts.get("quarantine", ())]
