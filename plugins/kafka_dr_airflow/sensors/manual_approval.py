"""A person's decision, bound to what that person was shown."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_dr.quoting import code, line
from kafka_dr_airflow.links import EvidenceLink, evidence_url, trigger_url
from kafka_dr_airflow.operators.failover_step import URGENT, numbered
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.receipt import Receipt, perform, run_request
from kafka_dr_airflow.topology_file import read_topology

if TYPE_CHECKING:
    from kafka_dr.approvals.approval import Answer, ApprovalQuestion
    from kafka_dr.register import Verb
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord
    from kafka_dr.runs.request import RunRequest

DIGEST = "digest"
REASON = "reason"
#: Decided when the question is asked; what a DAG passed here would be lost, or worse, obeyed.
_TAKEN = {"execution_timeout", "response_timeout", "assigned_users", "defaults", "subject", "body"}


class ManualApprovalSensor(ApprovalOperator):
    """Waits until one of the group's approvers has said yes or no to exactly what the evidence says.

    Airflow's own operator leaves doors open that would matter here, and this one closes them:

    * *The question is asked once.* Airflow keeps the first text and the first approvers of a task, whatever it is
      told later. A task that is cleared or tried again ends the run unchanged instead of showing old facts.
    * *Approvers* are read from the topology when the task runs. None means no question, where Airflow would let
      everybody answer. Who answered is compared with them once more when the answer comes, and by the step ``claim``.
    * *The answer names the digest* of the facts that were shown. Airflow accepts an answer without its fields.
    * *The question expires* after the time that the topology gives and the text names, never by
      ``execution_timeout``, which Airflow would silently take for it.

    No, expired and superseded all end the run with every later step skipped and nothing changed. A dry run asks
    nobody.

    :param number: the step's place in its verb
    :param verb: which procedure is approved
    """

    ui_color = "#f4dbe4"
    #: What a yes does, as the question says it.
    consequence = "starts the switch"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, number: int, verb: Verb = "planned_failover", **kwargs: Any) -> None:
        for name in _TAKEN & kwargs.keys():
            raise ValueError(f"{name} of an approval is decided when it is asked: leave it out")
        defaults = {"task_id": "approval", "retries": 0, "subject": "Approve?", **URGENT}
        super().__init__(**numbered(number, {**defaults, **kwargs}))
        # default_args reach the classes above by another way, and Airflow makes an expiry of execution_timeout.
        if self.response_timeout or self.assigned_users or self.defaults:
            raise ValueError("default_args decide about the approval: leave out what only the topology may decide")
        self.verb = verb

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Write the question to evidence, put it to the approvers, and park until one of them answers."""
        question = self.question(context)
        if question is None:
            return
        self._prepare(question)
        self._ask_once(context)
        super().execute(context)

    def request(self, context: Any) -> RunRequest:
        """Return what the approval is about."""
        return run_request(context, self.verb)

    def page(self, context: Any) -> str:
        """Return where the evidence of the run is shown."""
        request = self.request(context)
        return evidence_url(request.protection_group, request.run)

    def question(self, context: Any) -> ApprovalQuestion | None:
        """Make the question, and keep it in evidence; ``None`` where nobody is to be asked."""
        from kafka_dr.failover.ask_approval import ask_approval
        from kafka_dr_airflow.connections import open_clients

        request = self.request(context)
        if request.dry_run:
            with plain_errors():
                group = read_topology(os.environ).group(request.protection_group)
            self.log.info("Dry run: nobody is asked. May answer: %s.", ", ".join(group.approvers))
            return None
        with plain_errors(), open_clients() as clients:
            return ask_approval(request, clients, page=self.page(context))

    def keep(self, request: RunRequest, clients: Clients, answer: Answer) -> StepRecord:
        """Keep an answer in evidence.

        :raises StepFailed: it does not count
        """
        from kafka_dr.approvals.approval import record_answer

        return record_answer(request, clients, answer)

    def keep_expiry(self, request: RunRequest, clients: Clients) -> StepRecord:
        """Keep in evidence that nobody answered in time."""
        from kafka_dr.approvals.approval import record_expiry

        return record_expiry(request, clients)

    @fails_plainly
    def execute_complete(self, context: Any, event: dict[str, Any]) -> Receipt:
        """Keep the answer in evidence, whoever gave it, and skip what follows unless it is a good yes."""
        if "error" in event:
            self._not_answered(context, event)
        request = self.request(context)
        answer = given_answer(event, approve=self.APPROVE)
        try:
            receipt = perform(self.log, lambda clients: self.keep(request, clients, answer))
        except AirflowFailException as refused:
            self._end(context, f"The answer does not count ({refused})")
        if answer.approved and not answer.digest:
            self._end(context, f"{answer.responder} approved without the digest of the facts (field {DIGEST!r})")
        # What was typed in is kept by now; Airflow would compare it with a form that this process does not have.
        super().execute_complete(context, {**event, "params_input": {}})
        return receipt

    def _prepare(self, question: ApprovalQuestion) -> None:
        if not question.approvers:
            raise AirflowFailException("the protection group has no approvers: name at least one in the topology")
        self.subject = question.subject
        self.body = "\n\n".join(filter(None, (question.body.rstrip(), self._instructions(question), question.written)))
        self.response_timeout = timedelta(seconds=question.expires_after_seconds)
        self.assigned_users = [{"id": name, "name": name} for name in question.approvers]
        self.params = ParamsDict(_form(question.digest))

    def _instructions(self, question: ApprovalQuestion) -> str:
        return (
            f"Only {', '.join(map(code, question.approvers))} may answer, once. *Approve* {self.consequence}. "
            "*Reject*, or no answer in time, ends the run, and nothing is changed."
        )

    def _ask_once(self, context: Any) -> None:
        """Store the question, and end the run if Airflow already holds another one for this task.

        Airflow answers with the question that it holds, which is an earlier one where there was one.
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
            asked_before = "This run has asked for its approval before, and Airflow would show the facts of that time"
            self._end(context, f"{asked_before}: an approval is asked once")

    def _not_answered(self, context: Any, event: dict[str, Any]) -> NoReturn:
        if event.get("error_type") == "timeout":
            request = self.request(context)
            perform(self.log, lambda clients: self.keep_expiry(request, clients))
            self._end(context, "Nobody answered before the approval expired")
        raise AirflowFailException(f"Airflow could not wait for the answer ({event['error']}); nothing was changed")

    def _end(self, context: Any, sentence: str) -> NoReturn:
        """End the run with nothing changed, and say where the next one is started."""
        dag_id = context["ti"].dag_id
        raise AirflowSkipException(f"{line(sentence)}. Nothing was changed. A new run: {trigger_url(dag_id)}") from None


def given_answer(event: dict[str, Any], *, approve: str) -> Answer:
    """Read an answer as Airflow hands it over. What is missing stays empty, and never counts as a yes.

    :param approve: the option that means yes
    """
    from kafka_dr.approvals.approval import Answer

    typed = event.get("params_input") or {}
    return Answer(
        approved=event["chosen_options"] == [approve],
        responder=(event.get("responded_by_user") or {}).get("id") or "nobody named",
        responded_at=event["responded_at"],
        digest=str(typed.get(DIGEST) or ""),
        reason=str(typed.get(REASON) or ""),
    )


def _form(digest: str) -> dict[str, Param]:
    """Return the fields beside the two buttons. Airflow drops those that are not marked as the task's own."""
    return {
        DIGEST: Param(
            digest,
            type="string",
            title="Digest of the facts",
            description="Filled in already. It ties the answer to what is shown above.",
            source="task",
        ),
        REASON: Param(
            None,
            type=["null", "string"],
            maxLength=500,
            title="Remark",
            description="Kept with the evidence. May stay empty.",
            source="task",
        ),
    }
