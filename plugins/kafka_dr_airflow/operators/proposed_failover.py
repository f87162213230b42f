"""Starts an unplanned failover by itself, if the topology allows it. The run still waits for a person's approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_dr.quoting import line
from kafka_dr_airflow.links import ProposedRunLink
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.operators.rounds import RedGroup

if TYPE_CHECKING:
    from kafka_dr.health.failover_proposal import Proposal, ProposedRun

#: States of a run that has not ended.
_ALIVE = ["queued", "running"]
#: The tasks that ask people, and the state of such a task while it waits for the answer.
_APPROVALS = ("approval", "second_approval")
_PARKED = "awaiting_input"
#: States of the approval in a run that ended before anybody was asked.
_NOT_ASKED = {None, "upstream_failed", "removed", "skipped"}


def was_asked(approval: str | None) -> bool:
    """Return whether somebody was asked for an approval.

    :param approval: the state of the task that asks
    """
    return approval not in _NOT_ASKED


class ProposalOperator(TriggerDagRunOperator):
    """Proposes a failover while the active cluster is down, and withdraws the proposal when it is back.

    A proposed run gathers evidence and waits at its approval. To withdraw it, this task lets it gather evidence again:
    the run then finds that the cluster answers, and ends without a change. Proposing the same run twice changes
    nothing.

    :param row: what the round of health said of the group; skipped unless it is to be considered
    """

    ui_color = "#f4dbe4"
    operator_extra_links = (ProposedRunLink(),)

    def __init__(self, *, row: RedGroup, **kwargs: Any) -> None:
        # A lineage provider would add parameters, and the run refuses unknown parameters.
        super().__init__(skip_when_already_exists=True, openlineage_inject_parent_info=False, **kwargs)
        self.row = row
        self.protection_group = row["protection_group"]
        self.proposed_run = ""

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Check the active cluster, then start the run or have it gather evidence again."""
        from kafka_dr.health.failover_proposal import (
            ProposalDecision,
            RunAction,
            act_on,
            close_proposal,
            consider_proposal,
        )
        from kafka_dr_airflow.task_clients import open_clients

        if not self.row["proposes"]:
            raise AirflowSkipException(f"nothing is proposed for {self.protection_group}")
        with plain_errors(), open_clients() as clients:
            proposal = consider_proposal(self.protection_group, clients)
            action = act_on(proposal.decision, self._run(context["ti"], proposal.run))
            if action is RunAction.FORGET:
                close_proposal(self.protection_group, proposal, clients)
        self.log.info("%s: %s", action, line(proposal.sentence))
        if proposal.decision is ProposalDecision.HELD:
            raise AirflowException(line(proposal.sentence))
        if action in (RunAction.LEAVE, RunAction.FORGET):
            raise AirflowSkipException(line(proposal.sentence))
        self.proposed_run = proposal.run
        self._aim(proposal, again=action is RunAction.GATHER_AGAIN)
        super().execute(context)

    def _run(self, task: Any, run: str) -> ProposedRun | None:
        """Ask Airflow how far the run has come; ``None`` if there is no such run."""
        from kafka_dr.health.failover_proposal import ProposedRun

        if not run or not task.get_dr_count(self.trigger_dag_id, run_ids=[run]):
            return None
        wanted = [*_APPROVALS, "claim"]
        found = task.get_task_states(self.trigger_dag_id, task_ids=wanted, run_ids=[run])
        states = found.get(run, {})
        return ProposedRun(
            alive=bool(task.get_dr_count(self.trigger_dag_id, run_ids=[run], states=_ALIVE)),
            asked=was_asked(states.get("approval")),
            begun=states.get("claim") is not None,
            waiting=any(states.get(name) == _PARKED for name in _APPROVALS),
        )

    def _aim(self, proposal: Proposal, *, again: bool) -> None:
        self.trigger_run_id = proposal.run
        self.reset_dag_run = again
        self.skip_when_already_exists = not again
        self.conf = {
            "protection_group": self.protection_group,
            "source": proposal.source,
            "target": proposal.target,
            "reason": f"proposed by dr_health: {proposal.sentence}",
        }
