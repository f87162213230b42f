"""A person's decision, bound to what that person was shown."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_dr_airflow.links import EvidenceLink, trigger_url
from kafka_dr_airflow.operators.failover_step import URGENT
from kafka_dr_airflow.operators.record import Receipt, perform, plain_errors, run_request

if TYPE_CHECKING:
    from kafka_dr.failover import Answer, ApprovalQuestion

DIGEST = "digest"
REASON = "reason"
#: Decided when the question is asked; what a DAG or its default_args passed here would be lost, or worse, obeyed.
_TAKEN = ("execution_timeout", "response_timeout", "assigned_users", "defaults", "subject", "body")


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

    No, expired and superseded all end the run with every later step skipped and nothing changed. In a dry run the
    question is written to the log and nobody is asked.

    :param verb: which procedure is approved
    """

    ui_color = "#f4dbe4"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, *, verb: str = "planned_failover", **kwargs: Any) -> None:
        for name in _TAKEN:
            if name in kwargs:
                raise ValueError(f"{name} of an approval is decided when it is asked: leave it out")
        super().__init__(**{"task_id": "approval", "retries": 0, "subject": "Approve?", **URGENT, **kwargs})
        self.verb = verb

    def execute(self, context: Any) -> None:
        """Write the question to evidence, put it to the approvers, and park until one of them answers."""
        from kafka_dr.failover import ask_approval
        from kafka_dr_airflow.world import open_world

        request = run_request(context, self.verb)
        with plain_errors(), open_world() as world:
            question = ask_approval(request, world)
        self._prepare(question)
        if request.dry_run:
            self.log.info("Dry run: nobody is asked. The question would be:")
            for line in (self.subject, *str(self.body).splitlines()):
                self.log.info("%s", line)
            return
        self._ask_once(context)
        super().execute(context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Receipt:
        """Check the answer, keep it in evidence, and skip what follows unless it is yes."""
        from kafka_dr.failover import record_answer

        if "error" in event:
            self._not_answered(context, event)
        request = run_request(context, self.verb)
        answer = self._checked(context, event)
        receipt = perform(self.log, lambda world: record_answer(request, world, answer))
        # What was typed in is checked and kept by now; Airflow would compare it with the form of another process.
        super().execute_complete(context, {**event, "params_input": {}})
        return receipt

    def _prepare(self, question: ApprovalQuestion) -> None:
        if not question.approvers:
            raise AirflowFailException("the protection group has no approvers: name at least one in the topology")
        self.subject = question.subject
        self.response_timeout = timedelta(seconds=question.expires_after_seconds)
        self.assigned_users = [{"id": name, "name": name} for name in question.approvers]
        self.params = ParamsDict(_form(question.digest))
        self.body = f"{question.body.rstrip()}\n\n{_footer(question, datetime.now(UTC) + self.response_timeout)}"

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
            self._end(
                context,
                "This run has asked for its approval before, and Airflow would show the facts of that time: "
                "an approval is asked once",
            )

    def _not_answered(self, context: Any, event: dict[str, Any]) -> NoReturn:
        if event.get("error_type") == "timeout":
            self._end(context, "Nobody answered before the approval expired")
        raise AirflowFailException(f"Airflow could not wait for the answer ({event['error']}); nothing was changed")

    def _checked(self, context: Any, event: dict[str, Any]) -> Answer:
        """Return an answer that an approver gave, and gave to these facts."""
        from kafka_dr.failover import Answer

        responder = (event.get("responded_by_user") or {}).get("id")
        approvers = _approvers(context["params"]["protection_group"])
        if responder not in approvers:
            who = f"{responder} answered" if responder else "The answer names nobody"
            self._end(context, f"{who}; only {', '.join(approvers)} may")
        typed = event.get("params_input") or {}
        approved = event["chosen_options"] == [self.APPROVE]
        if approved and not typed.get(DIGEST):
            self._end(context, f"{responder} approved without the digest of the facts (field {DIGEST!r})")
        return Answer(
            approved=approved,
            responder=responder,
            responded_at=event["responded_at"],
            digest=str(typed.get(DIGEST) or ""),
            reason=str(typed.get(REASON) or ""),
        )

    def _end(self, context: Any, sentence: str) -> NoReturn:
        """End the run with nothing changed, and say where the next one is started."""
        dag_id = context["ti"].dag_id
        raise AirflowSkipException(f"{sentence}. Nothing was changed. A new run: {trigger_url(dag_id)}")


def _approvers(group: str) -> Collection[str]:
    import os

    from kafka_dr_airflow.declared import read_topology

    with plain_errors():
        return read_topology(os.environ).group(group).approvers


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


def _footer(question: ApprovalQuestion, expires_at: datetime) -> str:
    return "\n".join(
        (
            "---",
            f"May answer: **{', '.join(question.approvers)}**, until **{expires_at:%H:%M:%S} UTC** "
            f"({expires_at:%Y-%m-%d}). After that the run ends and nothing is changed.",
            "",
            "*Approve* starts the failover; up to the step *open target* a failure rolls everything back. "
            "*Reject* ends the run; nothing is changed.",
            "",
            f"Digest of the facts: `{question.digest}`",
        )
    )
