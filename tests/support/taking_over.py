"""A group whose existing replication is taken over: the audit, the approval and the steps, as the DAG does them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer
from kafka_dr.audit.report_folders import report_folder
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import switch
from support.auditing import job_environ, topology_file
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.slow_group import Announced, SlowGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUNS = itertools.count(1)


@dataclass(slots=True)
class SilentWatch:
    """Remembers what a switch says."""

    said: list[str] = field(default_factory=list)

    def begins(self, step: StepName) -> None:
        self.said.append(f"{step} begins")

    def ended(self, record: StepRecord) -> None:
        self.said.append(record.summary())

    def says(self, sentence: str) -> None:
        self.said.append(sentence)


@dataclass(slots=True)
class TakingOver:
    """One group, and the Spark session that audits it."""

    protection: Protection
    spark: SparkSession

    @property
    def group(self) -> str:
        """Its name."""
        return self.protection.name

    def request(self, verb: str = "take_over", **changes: object) -> RunRequest:
        """Return a request for a new run."""
        fields: dict[str, object] = {"reason": "a test", "verb": verb, **changes}
        return RunRequest(self.group, f"{verb}-{next(_RUNS)}", **fields)  # type: ignore[arg-type]

    def audit(self, *more: str) -> int:
        """Audit the copy from the beginning, into the folder where a take over looks for the report."""
        from jobs.checksum.job import main

        @contextmanager
        def shared(_name: str) -> Iterator[SparkSession]:
            yield self.spark

        folder = report_folder(datetime.now(UTC), "a-test", next(_RUNS))
        out = Path(self.protection.topology.evidence.root) / f"audits/{self.group}/checksum/east-to-west/{folder}"
        arguments = ["--topology", str(topology_file(self.protection)), "--out", str(out)]
        arguments += ["--flow", f"{self.group}.east-to-west", *(more or ("--full",))]
        return main(arguments, job_environ(self.protection), shared)

    def approve(self, request: RunRequest, clients: Clients) -> str:
        """Ask for the approval, give it, and return what was asked."""
        question = ask_approval(request, clients)
        record_answer(request, clients, Answer(True, "alice", datetime.now(UTC), question.digest))
        return question.body

    def prepared(self, clients: Clients, request: RunRequest | None = None) -> tuple[RunRequest, str]:
        """Audit, examine, ask and approve; return the run, and what was asked."""
        request = request or self.request()
        assert self.audit() in (0, 1), "the audit could not compare the copy"
        run_step(StepName.PREFLIGHT, request, clients)
        return request, self.approve(request, clients)

    def take_over(self, clients: Clients) -> tuple[Sequence[StepRecord], str]:
        """Take the group over, from the audit to the sealed report."""
        request, asked = self.prepared(clients)
        done = switch(request, clients, SilentWatch())
        return (*done, run_step(StepName.REPORT, request, clients)), asked

    def seed(self, clients: Clients) -> FlowSeed:
        """Return where the flow began that replaced what was taken over."""
        state = clients.register("east").read(self.group)
        assert state is not None
        return FlowSeed.from_json(clients.register("east").facts(self.group, state.run)[FLOW_SEED])

    def fail_over(self, slow: SlowGroup, clients: Clients) -> Announced:
        """Fail over to west as planned, and return what was said of a group beforehand."""
        request = self.protection.request("failover")
        seen = run_step(StepName.PREFLIGHT, request, clients).facts
        announced = slow.announced(seen, self.approve(request, clients), clients)
        for step in STEPS_AFTER_APPROVAL:
            run_step(step, request, clients)
        return announced
