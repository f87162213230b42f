"""The tasks of a drill: begin, drill, teardown, result. What they do is in the core; the group is the drill's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from kafka_dr.causes import cause
from kafka_dr.quoting import inline, line
from kafka_dr_airflow.operators.outgoing import notify_refused
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.receipt import requester_of
from kafka_dr_airflow.operators.spark_job import SparkJobOperator, audit_connections
from kafka_dr_airflow.run_note import leave_note
from kafka_dr_airflow.topology_file import TOPOLOGY

if TYPE_CHECKING:
    from kafka_dr.drill.result import DrillResult

#: A drill waits for clusters by itself; this only ends one that hangs in spite of that.
_HANGING = timedelta(minutes=60)
_BEGIN = "begin"
#: The Spark jobs of the way back.
_LIST, _AUDIT = "stranded_records", "checksum_audit"


class DrillBeginOperator(FirstTask):
    """Chooses the group and the kind of a drill, and refuses one that may not begin. It changes nothing.

    Without a group it takes the one whose drill is due; if none is, the run is skipped.
    """

    ui_color = "#e6f0dc"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": _BEGIN, "retries": 0, "execution_timeout": timedelta(minutes=5), **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> dict[str, str]:
        """Check everything that has to hold before a drill, and return which one it is."""
        from kafka_dr.drill import conduct
        from kafka_dr.topology.drill_group import id_at
        from kafka_dr_airflow.task_clients import open_clients

        params, drill_id = context["params"], id_at(context["dag_run"].run_after)
        with self._said(context), plain_errors(), open_clients() as clients:
            chosen, standby = (params["protection_group"], params["kind"]), params.get("standby") or None
            if not chosen[0]:
                found = conduct.due_drill(clients)
                if found is None:
                    raise AirflowSkipException("no drill is due now, or none may begin")
                chosen, standby = found, None
            group, kind = chosen
            begun = conduct.begin(group, kind, drill_id, clients, requester=requester_of(context), standby=standby)
        self.log.info("the %s drill %s of %s begins on %s", kind, drill_id, group, begun.active)
        return {"group": group, "id": drill_id}

    @contextmanager
    def _said(self, context: Any) -> Iterator[None]:
        """Say why no drill begins: in the log, on the run, and to who is notified."""
        try:
            yield
        except AirflowSkipException:
            raise
        except AirflowException as error:
            self.log.error("%s", error)
            leave_note(self.log, context, f"NOT BEGUN: {inline(cause(error))}")
            if group := context["params"]["protection_group"]:
                notify_refused(self.log, context["ti"].dag_id, group, f"NOT BEGUN: {line(cause(error))}")
            raise


class _OfDrill(BaseOperator):
    """A task about the drill that the first task has begun; skipped if there is none."""

    ui_color = "#e6f0dc"

    def drill(self, context: Any) -> tuple[str, str]:
        """Return group and id.

        :raises AirflowSkipException: no drill has begun
        """
        found = context["ti"].xcom_pull(task_ids=_BEGIN)
        if not found:
            raise AirflowSkipException("no drill has begun")
        return str(found["group"]), str(found["id"])

    def say(self, sentence: str) -> None:
        """Write a sentence of the drill into the log."""
        self.log.info("%s", line(sentence))


class DrillOperator(_OfDrill, SparkJobOperator):
    """Makes the drill's group, runs its failovers under load, and measures. A drill is never tried again by itself.

    On the way back from an unplanned failover it submits the Spark jobs of a failback, one after the other.
    """

    ui_color = "#e6f0dc"

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "drill", "name": "kafka-dr drill", "retries": 0, "execution_timeout": _HANGING}
        super().__init__(job=_LIST, **{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Carry the drill out."""
        from kafka_dr.drill import conduct
        from kafka_dr_airflow.task_clients import open_clients

        group, drill_id = self.drill(context)
        with plain_errors(), open_clients() as clients:
            jobs = _SparkJobs(self, context, clients.topology.group(group).clusters)
            result = conduct.carry_out(group, drill_id, clients, self.say, requester=requester_of(context), jobs=jobs)
        if result.why:
            raise AirflowFailException("; ".join(map(line, result.why)))

    def is_an_answer(self, ended: str) -> bool:
        """Return whether a job found something: exit code 1, and the line that says what."""
        said = ("stranded: ", "findings: ")
        return "Error code is: 1." in ended and any(line.startswith(said) for line in ended.splitlines())


@dataclass(frozen=True, slots=True)
class _SparkJobs:
    """The jobs of the way back, submitted by the task of the drill."""

    task: DrillOperator
    context: Any
    clusters: tuple[str, ...]

    def list_stranded(self, group: str) -> str:
        """See :class:`~kafka_dr.drill.copy_jobs.CopyJobs`."""
        return self._ended(_LIST, ["--group", group])

    def audit_whole(self, flow: str, out: str) -> str:
        """See :class:`~kafka_dr.drill.copy_jobs.CopyJobs`."""
        return self._ended(_AUDIT, ["--flow", flow, "--out", out, "--full"])

    def _ended(self, job: str, arguments: list[str]) -> str:
        self.task.begin(job, ["--topology", os.environ[TOPOLOGY], *arguments])
        with self.task.reachable(audit_connections(self.clusters), encrypts=job == _LIST):
            return line(self.task.submit(self.context) or "")


class DrillTeardownOperator(_OfDrill):
    """Removes everything that the drill made, however it ended, and looks whether anything is left."""

    def __init__(self, **kwargs: Any) -> None:
        tries = {"retries": 5, "retry_delay": timedelta(seconds=30)}
        super().__init__(**{"task_id": "teardown", "execution_timeout": timedelta(minutes=15), **tries, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Tear it down."""
        from kafka_dr.drill import conduct
        from kafka_dr_airflow.task_clients import open_clients

        group, drill_id = self.drill(context)
        with plain_errors(), open_clients() as clients:
            result = conduct.conclude(group, drill_id, clients, self.say)
        if left := conduct.left_in(result):
            raise AirflowException("; ".join(map(line, left)))


class DrillResultOperator(_OfDrill):
    """Says how the drill ended, and is green only if it passed."""

    def __init__(self, **kwargs: Any) -> None:
        tries = {"retries": 2, "retry_delay": timedelta(seconds=5)}
        defaults = {"task_id": "result", "trigger_rule": TriggerRule.ALL_DONE, **tries}
        super().__init__(**{**defaults, "execution_timeout": timedelta(minutes=2), **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> str:
        """Read the result, leave it as the note of the run, and fail unless the drill passed."""
        if _state_of_begin(context) not in ("success", "skipped"):
            raise AirflowFailException(f"no drill has begun: see the log of {_BEGIN}")
        group, drill_id = self.drill(context)
        result = _read(group, drill_id)
        note = f"{'PASSED' if result.passed else 'NOT PASSED'}: {inline(result.summary)}"
        leave_note(self.log, context, note)
        for each in result.why:
            self.log.error("%s", line(each))
        if not result.passed:
            raise AirflowFailException(note)
        return note


def _state_of_begin(context: Any) -> str:
    ti = context["ti"]
    states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id]).get(ti.run_id, {})
    return str(states.get(_BEGIN, "unknown"))


def _read(group: str, drill_id: str) -> DrillResult:
    from kafka_dr.drill.result import DrillResults
    from kafka_dr.json_documents import DocumentDamaged
    from kafka_dr_airflow.task_clients import open_clients

    try:
        with plain_errors(), open_clients() as clients:
            found = DrillResults(clients.evidence_root, group).read(drill_id)
    except (DocumentDamaged, OSError) as error:
        raise AirflowException(f"the result of the drill cannot be read: {line(cause(error))}") from None
    if found is None:
        raise AirflowFailException(f"drill {drill_id} of {group} has no result: see the log of {_BEGIN}")
    return found
