"""What an audit of a take over or a failback found is kept as the group's newest result, whatever it says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.register import Phase
from kafka_dr.topology.audited import AuditedFlow, audited_flow
from kafka_dr.watch_results import WatchResultStore
from kafka_dr_airflow.operators import failback
from kafka_dr_airflow.operators.failback import FailbackAuditOperator
from kafka_dr_airflow.operators.spark_job import SparkJobOperator
from kafka_dr_airflow.operators.take_over import CopyAuditOperator
from kafka_dr_airflow.topology_file import read_topology
from support.register_states import a_state


@dataclass(frozen=True)
class Instance:
    """The part of a task instance that an audit asks for."""

    dag_id: str = "dr_adopt"
    run_id: str = "r1"
    task_id: str = "audit"
    try_number: int = 1


class WithReport(SparkJobOperator):
    """An audit whose job has written a report.

    :param report: ``None``: it wrote none
    """

    report_path: str

    def __init__(self, *, root: Path, verdict: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._evidence, self._verdict = root, verdict

    @contextmanager
    def reachable(self, connections: Any, *, encrypts: bool = False) -> Iterator[None]:
        yield

    def submit(self, context: Any) -> str | None:
        if self._verdict is None:
            return "Spark did not begin"
        path = self._evidence / self.report_path
        path.parent.mkdir(parents=True)
        said = {"equal": "all is equal", "findings": "3 LOST", "unknown": "west hides a topic"}[self._verdict]
        path.write_text(json.dumps({"verdict": self._verdict, "sentence": said, "findings": []}))
        return None if self._verdict == "equal" else said


class Audited(WithReport, CopyAuditOperator):
    """The audit of a take over."""

    def _flow(self, context: Any) -> AuditedFlow:
        return audited_flow(read_topology(os.environ), "orders.east-to-west")


class AuditedOldCluster(WithReport, FailbackAuditOperator):
    """The audit of a failback."""


def test_a_failback_audits_the_flow_to_the_old_cluster_of_a_group_that_its_own_run_holds(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = a_state(epoch=1001, phase=Phase.DIVERGED, active="west", standby="east", verb="failback", run="r1")
    monkeypatch.setattr(failback, "record_of", lambda _group: state)
    context = {"params": {"protection_group": "orders"}, "run_id": "r1", "ti": Instance("dr_failback")}
    audit = AuditedOldCluster(root=root, verdict="equal")
    found = audit.execute(context)
    assert found["verdict"] == "equal"
    assert "/west-to-east/" in found["report"]
    assert "--full" in audit.application_args


@pytest.mark.parametrize(
    ("verdict", "outcome", "said"),
    [
        ("equal", "ok", "all is equal"),
        ("findings", "failed", "3 LOST"),
        ("unknown", "unknown", "west hides a topic"),
        (None, "unknown", "Spark did not begin"),
    ],
)
def test_it_is_kept_with_its_verdict(root: Path, verdict: str | None, outcome: str, said: str) -> None:
    context = {"params": {"protection_group": "orders"}, "run_id": "r1", "ti": Instance()}
    audit = Audited(root=root, verdict=verdict)
    if outcome == "unknown":
        with pytest.raises(SystemExit):
            audit.execute(context)
    else:
        assert audit.execute(context)["verdict"] == verdict
    kept = WatchResultStore(root).read("orders", "checksum")
    assert kept is not None
    assert (kept.outcome, kept.sentences) == (outcome, (said,))
