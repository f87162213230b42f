"""Keeps for the status page which runs wait for a person, and dry runs. If that fails, only the log says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.log import redact

from kafka_dr.errors import KafkaDrError
from kafka_dr.quoting import line
from kafka_dr.verb_words import verb_words
from kafka_dr_airflow.operators.receipt import requester_of
from kafka_dr_airflow.running_runs import ended_in_airflow, has_ended
from kafka_dr_airflow.topology_file import evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.watch_results import OpenRuns


def run_waits(logger: Any, context: Any, group: str, question: str, *, people: Sequence[str], seconds: float) -> None:
    """Keep that a run waits for one of these people.

    :param logger: of the task
    :param question: what they were asked, in one line
    :param seconds: for how long an answer counts
    """
    from kafka_dr.evidence.store import EvidenceStore
    from kafka_dr.watch_results import OpenRun

    ti, now = context["ti"], datetime.now(UTC)
    asked = OpenRun(
        group,
        ti.run_id,
        ti.dag_id,
        line(redact(question)),
        tuple(people),
        now,
        now + timedelta(seconds=seconds),
        by=requester_of(context),
    )

    def keep(runs: OpenRuns) -> None:
        EvidenceStore(runs.root).checked(asked.to_json())
        runs.ask(asked)

    _kept(logger, keep)


def dry_run_began(logger: Any, context: Any, group: str, verb: str) -> None:
    """Keep that a dry run has begun.

    :param logger: of the task
    :param verb: what it would do
    """
    from kafka_dr.watch_results import OpenRun

    ti = context["ti"]
    said = verb_words(verb)
    article = "an" if said[0] in "aeiou" else "a"
    said = f"A dry run of {article} {said}: it changes nothing and asks nobody."
    dry = OpenRun.dry(group, ti.run_id, ti.dag_id, said, datetime.now(UTC), requester_of(context))
    _kept(logger, lambda runs: runs.ask(dry))


def run_was_answered(logger: Any, context: Any, group: str, who: str) -> None:
    """Keep that somebody has answered.

    :param logger: of the task
    """
    _kept(logger, lambda runs: runs.answer(group, context["ti"].run_id, line(who)))


def run_ended(logger: Any, context: Any, group: str) -> None:
    """Forget a run that has ended.

    :param logger: of the task
    """
    from kafka_dr.watch_results import RunningSteps

    def close(runs: OpenRuns) -> None:
        runs.close(group, context["ti"].run_id)
        RunningSteps(runs.root).close(group, context["ti"].run_id)

    _kept(logger, close)


def list_ended_runs(logger: Any) -> None:
    """List open runs as ended that a person ended in Airflow. If this fails, only the log says so.

    :param logger: of the task that asks Airflow
    """
    from kafka_dr.watch_results import RunEndings, RunningSteps

    now = datetime.now(UTC)

    def close(runs: OpenRuns) -> None:
        running = RunningSteps(runs.root)
        ended = ended_in_airflow(runs.read(now)[0], running.read(now)[0], has_ended, now)
        for (group, run), ending in ended.items():
            RunEndings(runs.root).keep(group, ending)
            runs.close(group, run)
            running.close(group, run)

    _kept(logger, close)


@contextmanager
def running_step(context: Any, group: str, verb: str, *, holds: bool) -> Iterator[None]:
    """Show on the status page that a task runs which is no step of its verb, such as an audit.

    :param holds: whether the run holds the group
    """
    from kafka_dr.clock import SystemClock
    from kafka_dr.runs.executor import Executor
    from kafka_dr.runs.shown_steps import ShownSteps

    ti, root = context["ti"], evidence_root(read_topology(os.environ).evidence)
    shown = ShownSteps(root, executor=Executor.here().name, now=SystemClock().now)
    shown.dag_id = ti.dag_id
    with shown.step(group, ti.run_id, verb, ti.task_id, holds=holds):
        yield


def _kept(logger: Any, change: Callable[[OpenRuns], None]) -> None:
    from kafka_dr.json_documents import DocumentDamaged
    from kafka_dr.watch_results import OpenRuns

    try:
        change(OpenRuns(evidence_root(read_topology(os.environ).evidence)))
    except (KafkaDrError, DocumentDamaged, OSError) as error:
        logger.warning("The status page does not show that this run is open: %s", line(error))
