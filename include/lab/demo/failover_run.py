"""One planned failover as a person would run it: trigger, read the question, answer, watch it to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.clusters import PROTECTION_GROUP
from lab.demo.airflow_rest import ENDED, PARKED, AirflowApi, Question
from lab.demo.run_evidence import RunEvidence, Step
from lab.errors import LabError

DAG = "dr_planned_failover"
APPROVAL = "approval"
ASK_SECONDS = 120.0
END_SECONDS = 300.0
#: Airflow fails a task that is answered before its scheduler has noticed that it waits: the task's process has to be
#: gone, and the scheduler to have gone round since. A heartbeat may end a round that began before; of two, one whole
#: round lies between. People are slower than that.
LEAVING_SECONDS = 3.0
ROUNDS_BEFORE_ANSWER = 2
ROUNDS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FailoverRun:
    """A run that has ended.

    :param approved_at: when the approval was stored; ``None`` if there was none
    :param state: Airflow's word about it
    """

    run: str
    source: str
    target: str
    approved_at: datetime | None
    state: str
    evidence: RunEvidence

    @property
    def moved(self) -> bool:
        """Whether the target became the active cluster."""
        return self.evidence.done("open_target")

    @property
    def approved_to_verified_seconds(self) -> float | None:
        """From the stored approval to the end of ``verify``."""
        verify = self.evidence.step("verify")
        if self.approved_at is None or verify is None or not verify.good:
            return None
        return (verify.finished_at - self.approved_at).total_seconds()


Answering = Callable[[Question, str, Callable[[], bool]], str | None]


class FailoverRunner:
    """Runs planned failovers through Airflow.

    :param operator: the session that triggers and watches
    :param approver: the session that answers
    :param evidence: root of the evidence
    :param answering: given the question, the run's page and "was it answered elsewhere?", returns the option to choose
    :param tell: told each step as it ends
    """

    def __init__(
        self,
        operator: AirflowApi,
        approver: AirflowApi,
        *,
        evidence: Path,
        answering: Answering,
        tell: Callable[[Step], None],
    ) -> None:
        self._operator = operator
        self._approver = approver
        self._evidence = evidence
        self._answering = answering
        self._tell = tell

    def run(self, *, source: str, target: str, beside: Callable[[RunEvidence], None] | None = None) -> FailoverRun:
        """Run one failover to its end.

        :param beside: called with the run's evidence once the run is triggered
        :raises LabError: Airflow does not do its part in time
        """
        run = f"demo-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{source}-to-{target}"
        evidence = RunEvidence(self._evidence, group=PROTECTION_GROUP, run=run)
        conf = {"protection_group": PROTECTION_GROUP, "source": source, "target": target, "reason": "demonstration"}
        self._operator.trigger(DAG, run, conf)
        if beside is not None:
            beside(evidence)
        told: set[tuple[str, int]] = set()

        def look() -> None:
            for step in evidence.steps():
                if (step.name, step.attempt) not in told:
                    told.add((step.name, step.attempt))
                    self._tell(step)

        asked = self._wait_for_question(run, look)
        approved_at = self._answer(run) if asked else None
        state = self._operator.wait_for_end(DAG, run, seconds=END_SECONDS, look=look)
        look()
        return FailoverRun(run, source, target, approved_at, state, evidence)

    def _wait_for_question(self, run: str, look: Callable[[], None]) -> bool:
        """Wait until the approval is parked; ``False`` when the run ended before it asked."""
        deadline = time.monotonic() + ASK_SECONDS
        while self._operator.task_states(DAG, run).get(APPROVAL) != PARKED:
            look()
            if self._operator.run_state(DAG, run) in ENDED:
                return False
            if time.monotonic() > deadline:
                raise LabError(f"run {run} has not asked for its approval within {ASK_SECONDS:.0f} s: see its log")
            time.sleep(0.2)
        look()
        return True

    def _answer(self, run: str) -> datetime | None:
        parked = time.monotonic()
        question = self._operator.question(DAG, run, APPROVAL)

        def answered() -> bool:
            return self._operator.question(DAG, run, APPROVAL).responded_at is not None

        option = self._answering(question, self._operator.page(DAG, run), answered)
        if option is not None:
            time.sleep(max(0.0, parked + LEAVING_SECONDS - time.monotonic()))
            self._operator.wait_for_scheduler(rounds=ROUNDS_BEFORE_ANSWER, seconds=ROUNDS_SECONDS)
            self._approver.answer(DAG, run, APPROVAL, option=option, fields=question.fields)
        return self._operator.question(DAG, run, APPROVAL).responded_at
