"""One run of a verb as people would do it: trigger, read each question, answer, watch it to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

from lab.clusters import PROTECTION_GROUP
from lab.demo.airflow_rest import ENDED, PARKED, AirflowApi, PendingApproval
from lab.demo.run_evidence import RunEvidence, StepEvidence
from lab.demo.switch_times import PLANNED
from lab.demo.terminal_approval import REJECT
from lab.errors import LabError

DAG = f"dr_{PLANNED}"
DAGS_THAT_ASK = (DAG, "dr_unplanned_failover", "dr_failback")
#: What the names of a demo's runs begin with.
_OF_A_DEMO = "demo-"
#: The tasks that ask, in order, and how each has ended where nothing keeps the run from continuing.
_APPROVALS, _ANSWERED = ("approval", "second_approval"), ("success", "skipped")
#: How long a run that neither asks nor ends may show no sign of life. While it does, its own deadlines count: what
#: Spark has to read before a question takes minutes on a machine that does ten things at a time.
SILENT_SECONDS = 180.0
END_SECONDS = 300.0
#: Airflow fails a task that is answered before its scheduler has noticed that it waits: the task's process has to be
#: gone, and the scheduler to have gone round since. A heartbeat may end a round that began before; of two, one whole
#: round is between. People are slower than that.
LEAVING_SECONDS = 3.0
ROUNDS_BEFORE_ANSWER = 2
ROUNDS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunParameters:
    """What is to be run.

    :param moves: whether the verb makes the target the active cluster
    :param conf: parameters other than group, source, target and reason
    :param group: the protection group
    """

    source: str
    target: str
    dag: str = DAG
    moves: bool = True
    conf: Mapping[str, Any] = field(default_factory=dict)
    group: str = PROTECTION_GROUP

    @property
    def verb(self) -> str:
        """The procedure that the DAG follows."""
        return self.dag.removeprefix("dr_")


@dataclass(frozen=True, slots=True)
class FailoverRun:
    """A run that has ended.

    :param approved_at: when the last approval was stored; ``None`` if there was none
    :param state: Airflow's word about it
    :param moves: whether its verb makes the target the active cluster
    :param approved_by: who answered its questions, as Airflow has it
    :param verb: the procedure that it followed
    :param group: the protection group
    """

    run: str
    source: str
    target: str
    approved_at: datetime | None
    state: str
    evidence: RunEvidence
    moves: bool = True
    approved_by: tuple[str, ...] = ()
    verb: str = PLANNED
    group: str = PROTECTION_GROUP

    @property
    def through(self) -> bool:
        """Whether it did what its verb is for."""
        return self.state == "success" and (self.moved or not self.moves)

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


Answering = Callable[[PendingApproval, str, Callable[[], bool]], str | None]


class FailoverRunner:
    """Runs verbs through Airflow.

    :param operator: the session that triggers and watches
    :param approvers: the sessions that answer, each question of a run another one's
    :param evidence: root of the evidence
    :param answering: given the question, its page and "was it answered elsewhere?", returns the option to choose
    :param show_step: called with each step as it ends
    :param say: given a sentence for who watches
    :param now: a clock that never goes back, in seconds
    :param sleep: waits for so many seconds
    """

    def __init__(
        self,
        operator: AirflowApi,
        approvers: Sequence[AirflowApi],
        *,
        evidence: Path,
        answering: Answering,
        show_step: Callable[[StepEvidence], None],
        say: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._operator = operator
        self._approvers = approvers
        self._evidence = evidence
        self._answering = answering
        self._show_step = show_step
        self._say = say
        self._now = now
        self._sleep = sleep

    def run(self, order: RunParameters, *, meanwhile: Callable[[RunEvidence], None] | None = None) -> FailoverRun:
        """Run one verb to its end.

        :param meanwhile: called with the run's evidence once the run is triggered
        :raises LabError: Airflow does not do its part in time
        """
        run = f"{_OF_A_DEMO}{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{order.source}-to-{order.target}"
        evidence = RunEvidence(self._evidence, group=order.group, run=run)
        ends = {"source": order.source, "target": order.target} if order.moves else {}
        conf = {"protection_group": order.group, "reason": "demonstration", **ends, **order.conf}
        self._operator.trigger(order.dag, run, conf)
        told: set[tuple[str, int]] = set()

        def look() -> None:
            for step in evidence.steps():
                if (step.name, step.attempt) not in told:
                    told.add((step.name, step.attempt))
                    self._show_step(step)

        try:
            if meanwhile is not None:
                meanwhile(evidence)
            answers = self._answer_all(order.dag, evidence, look)
            state = self._operator.wait_for_end(order.dag, run, seconds=END_SECONDS, look=look)
        except KeyboardInterrupt:
            self._withdraw(order.dag, run)
            # The lab is stopped next, and a run that was approved would leave the group half moved.
            self._say(f"Interrupted: run {run} is waited for; interrupt again to leave it as it is")
            self._operator.wait_for_end(order.dag, run, seconds=END_SECONDS, look=look)
            raise
        except BaseException:
            self._withdraw(order.dag, run)
            raise
        look()
        return FailoverRun(
            run,
            order.source,
            order.target,
            next((each.responded_at for each in reversed(answers)), None),
            state,
            evidence,
            order.moves,
            tuple(each.responder for each in answers if each.responder is not None),
            order.verb,
            order.group,
        )

    def withdraw_left(self, dags: Sequence[str]) -> list[str]:
        """Leave no question of a demo that was killed; return the runs that had not ended.

        :param dags: the DAGs whose runs ask
        """
        left = [(dag, run) for dag in dags for run in self._operator.open_runs(dag) if run.startswith(_OF_A_DEMO)]
        for dag, run in left:
            self._withdraw(dag, run)
        return [run for _, run in left]

    def _withdraw(self, dag: str, run: str) -> None:
        """Leave no question: reject what the run asks, or end it before it asks. One that is approved continues."""
        if self._operator.run_state(dag, run) in ENDED:
            return
        states = self._operator.task_states(dag, run)
        waiting = [task for task in _APPROVALS if task in states and states[task] not in _ANSWERED]
        if not waiting:
            return
        question = self._operator.question_if_asked(dag, run, waiting[0])
        if question is None:
            self._operator.end(dag, run)
        elif question.responded_at is None:
            asked = next(each for each in self._approvers if each.user in question.approvers)
            asked.answer(dag, run, waiting[0], option=REJECT, fields=question.fields)

    def _answer_all(self, dag: str, evidence: RunEvidence, look: Callable[[], None]) -> list[PendingApproval]:
        """Answer what the run asks until it has ended; return the questions with their answers."""
        answered: list[str] = []
        answers: list[PendingApproval] = []
        for approver in cycle(self._approvers):
            asking = self._wait_for_question(dag, evidence, look, answered)
            if asking is None:
                break
            answered.append(asking)
            answers.append(self._answer(dag, evidence.folder.parent.name, evidence.folder.name, asking, approver))
        return answers

    def _wait_for_question(
        self, dag: str, evidence: RunEvidence, look: Callable[[], None], answered: Sequence[str]
    ) -> str | None:
        """Wait until a task is parked that was not answered yet; ``None`` when the run has ended.

        :raises LabError: the run has shown no sign of life for too long
        """
        run, life, deadline = evidence.folder.name, None, 0.0
        while True:
            look()
            states = self._operator.task_states(dag, run)
            parked = [task for task, state in states.items() if state == PARKED and task not in answered]
            if parked:
                return parked[0]
            if self._operator.run_state(dag, run) in ENDED:
                return None
            if (seen := (states, evidence.last_sign())) != life:
                life, deadline = seen, self._now() + SILENT_SECONDS
            elif self._now() > deadline:
                waits = f"neither asks anything nor ends, and showed no sign of life for {SILENT_SECONDS:.0f} s"
                raise LabError(f"run {run} of {dag} {waits}: see its log")
            self._sleep(0.5 if answered else 0.2)

    def _answer(self, dag: str, group: str, run: str, task: str, approver: AirflowApi) -> PendingApproval:
        parked = time.monotonic()
        question = self._operator.question(dag, run, task)

        def answered() -> bool:
            return self._operator.question(dag, run, task).responded_at is not None

        page = self._operator.question_page(dag, group, run)
        option = self._answering(question, page, answered)
        if option is not None:
            time.sleep(max(0.0, parked + LEAVING_SECONDS - time.monotonic()))
            self._operator.wait_for_scheduler(rounds=ROUNDS_BEFORE_ANSWER, seconds=ROUNDS_SECONDS)
            approver.answer(dag, run, task, option=option, fields=question.fields)
        return self._operator.question(dag, run, task)
