"""The approval by a person, bound to the facts that the person was shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException, TaskAwaitingInput

from kafka_dr.durations import duration
from kafka_dr.quoting import inline, line
from kafka_dr_airflow.links import EvidenceLink, QuestionLink, evidence_url, question_url, trigger_url
from kafka_dr_airflow.operators.failover_step import URGENT, numbered
from kafka_dr_airflow.operators.open_runs import run_waits, run_was_answered
from kafka_dr_airflow.operators.outgoing import keep_news
from kafka_dr_airflow.operators.plain_failure import fails_plainly, final, plain_errors
from kafka_dr_airflow.operators.receipt import Receipt, perform, run_request
from kafka_dr_airflow.run_note import leave_note
from kafka_dr_airflow.sensors.kept_answer import kept_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_dr.approvals.approval import ApprovalQuestion
    from kafka_dr.approvals.journaled import Answer, ApprovalJournal
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest, StepName

_T = TypeVar("_T")

REASON = "reason"
#: A later try takes the answer that the first one got before Airflow had noticed that it waits. Airflow may fail the
#: second one, too: by then it has started the first one once more, and does not run the same task twice.
_ANSWERED_TOO_SOON: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(seconds=1)}
#: These are decided when the question is asked. A DAG must not set them: Airflow would use the values of the DAG.
_TAKEN = {"execution_timeout", "response_timeout", "assigned_users", "defaults", "subject", "body"}


class ManualApprovalSensor(ApprovalOperator):
    """Waits until one of the group's approvers has approved or rejected exactly what the evidence says.

    It is stricter than Airflow's own operator:

    * *The question is asked once.* Airflow keeps the first text and the first approvers of a task, even if the task
      asks again. So only the first try asks. Airflow fails a try that is answered before it has noticed that its
      process ended; a later one takes the answer that the register or Airflow has, and judges it as any other. Without
      one the run ends, and nothing is changed.
    * *Approvers* are read from the topology when the task runs. Without approvers there is no question; Airflow would
      let everybody answer. The name in the answer is checked when it comes, and again by the step ``claim``.
    * *An answer is about the facts of its question*: the register has their digest, filed for this task instance
      before it parks. What Airflow keeps from an earlier try names its question in its text.
    * *The question expires* after the time that the topology sets and the text names. ``execution_timeout`` is never
      set, because Airflow would use it as the expiry.

    If the answer is no, is too late or belongs to old facts, all later steps are skipped and nothing is changed. So are
    those of a dry run, which asks nobody.

    :param number: the position of the step in its verb, from 1
    :param verb: the procedure that is approved
    :param step: ``approval`` or ``second_approval``, which is also the id of the task
    """

    ui_color = "#f4dbe4"
    operator_extra_links = (QuestionLink(), EvidenceLink())

    def __init__(self, *, number: int, verb: Verb = "planned_failover", step: str = "approval", **kwargs: Any) -> None:
        for name in _TAKEN & kwargs.keys():
            raise ValueError(f"{name} of an approval is decided when the question is asked: remove it from the DAG")
        defaults = {"task_id": step, "subject": "Approve?", **_ANSWERED_TOO_SOON, **URGENT}
        super().__init__(**numbered(number, {**defaults, **kwargs}))
        # default_args reach the parent classes directly, and Airflow uses execution_timeout as the expiry.
        if self.response_timeout or self.assigned_users or self.defaults:
            raise ValueError("default_args set the expiry or the approvers, which only the topology may: remove them")
        self.verb, self.step = verb, step

    @fails_plainly
    def execute(self, context: Any) -> Receipt | None:
        """Write the question to evidence, ask the approvers, and wait without a worker until one of them answers.

        Only the first try asks; see the class. Airflow may also start a try once more, under its former number.
        """
        if self.request(context).dry_run:
            raise AirflowSkipException("Dry run: nobody is asked. The first task shows what each step would do")
        with final():
            if not self.asks(context):
                return None
            again = context["ti"].try_number > 1 or self._journaled(context, lambda journal, step: journal.asked(step))
        if again:
            return self._take(context, *self._given_before(context))
        with final():
            question = self.question(context)
        self._prepare(question, page=self.answered_at(context))
        self._ask_once(context)
        self._notify(context, question)
        run_waits(
            self.log,
            context,
            self.request(context).protection_group,
            question.subject,
            people=[person.name for person in question.approvers],
            seconds=question.expires_after_seconds,
        )
        self._note(context, question)
        # Not Airflow's own execute: it stores the question once more, and removes an answer that came meanwhile.
        raise TaskAwaitingInput(method_name="execute_complete", timeout=self.response_timeout)

    def request(self, context: Any) -> RunRequest:
        """Return the request that the approval belongs to."""
        return run_request(context, self.verb)

    def page(self, context: Any) -> str:
        """Return the address of the run's evidence."""
        request = self.request(context)
        return evidence_url(request.protection_group, request.run)

    def answered_at(self, context: Any) -> str:
        """Return the address of the page that shows the question and takes the answer."""
        ti = context["ti"]
        return question_url(ti.dag_id, self.request(context).protection_group, ti.run_id)

    def asks(self, context: Any) -> bool:
        """Return whether somebody has to be asked."""
        return True

    def question(self, context: Any) -> ApprovalQuestion:
        """Return the question, and keep it in evidence."""
        from kafka_dr.runs.request import StepName
        from kafka_dr.verbs.ask_approval import ask_approval
        from kafka_dr_airflow.task_clients import open_clients

        with plain_errors(), open_clients() as clients:
            who = {"page": self.page(context), "asked_by": str(context["ti"].id)}
            return ask_approval(self.request(context), clients, StepName(self.step), **who)

    def journal(self, request: RunRequest, clients: Clients) -> ApprovalJournal:
        """Return where the register keeps the questions and answers of the run."""
        from kafka_dr.approvals.approval import journal_now

        return journal_now(request, clients)

    def keep(self, request: RunRequest, clients: Clients, answer: Answer, to: str) -> StepRecord:
        """Journal an answer in the register, where alone it counts, and keep a copy in evidence.

        :param to: the name of the question, or the id of the task instance that asked it
        :raises StepFailed: the answer does not count
        """
        from kafka_dr.approvals.approval import record_answer
        from kafka_dr.runs.request import StepName

        return record_answer(request, clients, answer, StepName(self.step), to=to)

    @fails_plainly
    def execute_complete(self, context: Any, event: dict[str, Any]) -> Receipt:
        """Keep the answer in evidence, and skip all later tasks unless it is a valid approval."""
        if "error" in event:
            self._not_answered(context, event)
        return self._take(context, given_answer(event, approve=self.APPROVE), str(context["ti"].id))

    def _take(self, context: Any, answer: Answer, to: str) -> Receipt:
        """Journal an answer if it counts, and let the run continue if it is an approval.

        :param to: which question it answers, as :meth:`keep` takes it
        """
        request = self.request(context)
        try:
            receipt = perform(self.log, lambda clients: self.keep(request, clients, answer, to))
        except AirflowFailException as refused:
            self._end(context, f"The answer does not count ({refused})")
        # After the answer is in the register: a page may be late, an answer not.
        run_was_answered(self.log, context, request.protection_group, answer.responder)
        # The typed fields are in evidence by now. Airflow would compare them with a form that is not in this process.
        said = {"chosen_options": [self.APPROVE if answer.approved else self.REJECT], "params_input": {}}
        by = {"responded_at": answer.responded_at, "responded_by_user": None}
        super().execute_complete(context, {**said, **by})
        return receipt

    def _given_before(self, context: Any) -> tuple[Answer, str]:
        """Return the answer to the question of the first try, with the name of that question.

        It is the one that the register has, else the one that Airflow keeps.

        If there is none, the run ends.
        """
        from kafka_dr.approvals.approval_sheet import named_in
        from kafka_dr.approvals.journaled import question_name

        journaled = self._journaled(context, lambda journal, step: journal.answered(step))
        if journaled is not None:
            self.log.info("The register has the answer to the question of an earlier try.")
            return journaled, question_name(journaled.question)
        kept = kept_answer(context["ti"])
        if isinstance(kept, str):
            self._without_answer(context, f"only the first try of an approval asks, and {kept}")
        self.log.info("Airflow has the answer to the question of an earlier try.")
        return given_answer(kept, approve=self.APPROVE), named_in(str(kept.get("body") or ""))

    def _journaled(self, context: Any, read: Callable[[ApprovalJournal, StepName], _T]) -> _T:
        """Return what the register has of this approval."""
        from kafka_dr.runs.request import StepName
        from kafka_dr_airflow.task_clients import open_clients

        with plain_errors(), open_clients() as clients:
            return read(self.journal(self.request(context), clients), StepName(self.step))

    def _without_answer(self, context: Any, because: str) -> NoReturn:
        from kafka_dr.approvals.approval import record_no_answer
        from kafka_dr.runs.request import StepName

        request, step = self.request(context), StepName(self.step)
        try:
            perform(self.log, lambda clients: record_no_answer(request, clients, because, step))
        except AirflowFailException as refused:
            because = str(refused)
        self._end(context, because)

    def _notify(self, context: Any, question: ApprovalQuestion) -> None:
        """Let the notifiers say to the approvers that a run waits for them."""
        from kafka_dr.notifications.notification import Notification

        people = ", ".join(person.name for person in question.approvers)
        details = (f"{people} may answer, within {duration(question.expires_after_seconds)}.",)
        at, group = datetime.now(UTC), self.request(context).protection_group
        link = self.answered_at(context)
        keep_news(self.log, (Notification(group, "approval_waiting", at, question.subject, details, link),))

    def _note(self, context: Any, question: ApprovalQuestion) -> None:
        """Say on the run where it is answered."""
        names = " or ".join(inline(person.name) for person in question.approvers)
        said = f"WAITS FOR {names}, until {question.expires_at:%H:%M} UTC: {inline(question.subject)}"
        leave_note(self.log, context, said, link=f"[Answer]({self.answered_at(context)})")

    def _prepare(self, question: ApprovalQuestion, *, page: str) -> None:
        if not question.approvers:
            raise AirflowFailException(
                "the protection group has no approvers: add at least one to approvers in the topology"
            )
        self.subject = question.subject
        self.body = question.dialog(page)
        self.response_timeout = timedelta(seconds=question.expires_after_seconds)
        self.assigned_users = [{"id": person.id, "name": person.name} for person in question.approvers]
        self.params = ParamsDict(_form())

    def _ask_once(self, context: Any) -> None:
        """Store the question in Airflow, and end the run if Airflow already has another one for this task.

        Airflow replies with the question that it has: the first one, if this task has asked before.
        """
        from airflow.sdk.execution_time.comms import CreateHITLDetailPayload
        from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS

        held = SUPERVISOR_COMMS.send(
            CreateHITLDetailPayload(
                ti_id=context["task_instance"].id,
                options=self.options,
                subject=self.subject,
                body=self.body,
                params=self.serialized_params,
                assigned_users=self.assigned_users,
            )
        )
        if held.body != self.body:
            asked_before = "This run has asked for its approval before, and Airflow would show the old facts"
            self._end(context, f"{asked_before}: trigger a new run")

    def _not_answered(self, context: Any, event: dict[str, Any]) -> NoReturn:
        if event.get("error_type") == "timeout":
            from kafka_dr.approvals.approval import record_expiry
            from kafka_dr.runs.request import StepName

            request, step = self.request(context), StepName(self.step)
            perform(self.log, lambda clients: record_expiry(request, clients, step))
            self._end(context, "Nobody answered before the approval expired")
        raise AirflowFailException(
            f"Airflow could not wait for the answer ({event['error']}). Nothing was changed: trigger a new run"
        )

    def _end(self, context: Any, sentence: str) -> NoReturn:
        """End the run without a change, and say where a new one can be triggered."""
        dag_id = context["ti"].dag_id
        raise AirflowSkipException(f"{line(sentence)}. Nothing was changed. A new run: {trigger_url(dag_id)}") from None


def given_answer(event: dict[str, Any], *, approve: str) -> Answer:
    """Read an answer as Airflow passes it. Which facts it is about, its question says.

    :param approve: the option that approves
    """
    from kafka_dr.approvals.journaled import Answer

    typed, user = event.get("params_input") or {}, event.get("responded_by_user") or {}
    return Answer(
        approved=event["chosen_options"] == [approve],
        responder=user.get("name") or user.get("id") or "nobody named",
        responder_id=user.get("id") or "",
        responded_at=event["responded_at"],
        digest="",
        reason=str(typed.get(REASON) or ""),
    )


def _form() -> dict[str, Param]:
    """Return the field above the two buttons. Airflow drops fields that are not marked as the task's own."""
    return {
        REASON: Param(
            None,
            type=["null", "string"],
            maxLength=500,
            title="Remark",
            description="Optional. Kept with the evidence.",
            source="task",
        ),
    }
