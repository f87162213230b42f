"""The task that moves a group: every step from the claim to the flipped route, in one process."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from kafka_dr.errors import ConnectionMistake
from kafka_dr.quoting import line
from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.failover_step import HANGING, URGENT
from kafka_dr_airflow.operators.plain_failure import NeverAgain, fails_plainly, plain_errors
from kafka_dr_airflow.operators.receipt import Receipt, receipt_of, run_request, show
from kafka_dr_airflow.operators.supervised import ends_with_supervisor
from kafka_dr_airflow.sent_metrics import send_step

if TYPE_CHECKING:
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest, StepName

#: The tries of Airflow, after those of the process. They only matter after the hand-over: a failure before it is final.
_FORWARD: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(seconds=2)}


class SwitchOperator(BaseOperator):
    """Runs the steps of a failover from ``claim`` to ``flip_route``, one after the other.

    Between the approval and the flipped route a person can only wait, so these steps are one task: it connects once.
    Each step keeps its own evidence, and the log shows each as a group with its seconds and proofs.

    A failure before the hand-over is final, and ``roll_back`` runs. The process has tried again by then what may pass.
    So is a second try that finds that the first one was killed while it was switching; an unplanned failover continues
    instead. A failure after the hand-over, or one that leaves it unknown, is tried again by Airflow. The time limit of
    the task counts as such a death of the process, and the register is read at once: no second try has to find it.
    If Airflow's supervisor of the task dies, the process says in the register that it has ended, and ends, too.

    :param numbers: the first and the last of its steps in the verb
    :param verb: the procedure that it is part of
    """

    ui_color = "#dbe8f4"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, numbers: tuple[int, int], verb: Verb = "planned_failover", **kwargs: Any) -> None:
        first, last = numbers
        shown = {"task_id": "switch", "task_display_name": f"{first}-{last} switch", "execution_timeout": HANGING}
        super().__init__(**{**shown, **URGENT, **_FORWARD, **kwargs})
        self.verb = verb

    @fails_plainly
    def execute(self, context: Any) -> Receipt:
        """Switch, and return where the evidence of the last step is."""
        from kafka_dr.verbs.switch import SwitchStopped, switch
        from kafka_dr.verbs.switch_rules import NextMove
        from kafka_dr_airflow.task_clients import open_clients

        request = run_request(context, self.verb)
        with plain_errors(), open_clients() as clients, ends_with_supervisor(clients):
            try:
                records = switch(request, clients, LogWatch(self.log))
            except SwitchStopped as stopped:
                final = stopped.move is not NextMove.LATER
                raise (AirflowFailException if final else AirflowException)(line(str(stopped))) from None
            except AirflowTaskTimeout:
                self._judge_time_limit(request, clients)
                raise
        return receipt_of(records[-1])

    def at_its_limit(self) -> str:
        """Say what follows when the task reaches its time limit."""
        policy: object = self.retry_policy
        if isinstance(policy, NeverAgain):
            return "it is not tried again, and roll_back undoes what it changed"
        return "it is tried again, and continues from the register"

    def _judge_time_limit(self, request: RunRequest, clients: Clients) -> None:
        """Let no further try begin if it would end at once."""
        from kafka_dr.verbs.switch import where_is
        from kafka_dr.verbs.switch_rules import NextMove, at_start

        with suppress(ConnectionMistake):  # the next try says it
            if at_start(self.verb, where_is(request, clients)) in (NextMove.ROLL_BACK, NextMove.STOP):
                self.retry_policy = NeverAgain()


class LogWatch:
    """Shows the steps of a switch in the task's log while it runs, each as a group that can be unfolded.

    :param log: the task's logger
    """

    def __init__(self, log: Any) -> None:
        self._log = log

    def begins(self, step: StepName) -> None:
        """Say which step runs now."""
        self._log.info("%s begins", step)

    def ended(self, record: StepRecord) -> None:
        """Show what the step did. What made it fail is not folded away."""
        send_step(self._log, record)
        if not record.good:
            show(self._log, record)
            return
        self._log.info("::group::%s: %s in %.2f s", record.step, record.outcome, record.seconds)
        show(self._log, record)
        self._log.info("::endgroup::")
        if record.outcome == "unproven":
            # The run continues, so the task is not red; the line in its log is.
            self._log.error("%s", record.detail)

    def says(self, sentence: str) -> None:
        """Say what is tried again, or waited for."""
        self._log.warning("%s", line(sentence))
