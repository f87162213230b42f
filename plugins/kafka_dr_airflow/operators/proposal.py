"""Starts an unplanned failover by itself, where the topology allows it. The run waits for a person all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk.exceptions import AirflowSkipException

from kafka_dr_airflow.operators.record import plain_errors

if TYPE_CHECKING:
    from kafka_dr.failover.health.proposal import Proposal

#: A run that is going to do something yet.
_ALIVE = ["queued", "running"]


class ProposalOperator(TriggerDagRunOperator):
    """Proposes a failover while the active cluster is down, and withdraws the proposal when it is back.

    A proposed run gathers its evidence and parks at its approval. It is withdrawn by letting it gather evidence anew:
    that finds a cluster that answers and ends the run, with nothing changed. Proposing again what was proposed already
    changes nothing.

    :param protection_group: whose active cluster is looked at
    """

    ui_color = "#f4dbe4"

    def __init__(self, *, protection_group: str, **kwargs: Any) -> None:
        super().__init__(skip_when_already_exists=True, **kwargs)
        self.protection_group = protection_group

    def execute(self, context: Any) -> None:
        """Look, and start the run or have it look again."""
        from kafka_dr.failover.health.proposal import Move, close, consider
        from kafka_dr_airflow.world import open_world

        with plain_errors(), open_world() as world:
            proposal = consider(self.protection_group, world)
            alive = bool(proposal.run) and self._is_alive(context, proposal.run)
            if proposal.move is Move.WITHDRAW and not alive:
                close(self.protection_group, proposal, world)
        self.log.info("%s: %s", proposal.move, proposal.sentence)
        open_yet = alive and not self._has_begun(context, proposal.run)
        if proposal.move is Move.NOTHING or (proposal.move is Move.WITHDRAW and not open_yet):
            raise AirflowSkipException(proposal.sentence)
        self._aim(proposal, again=proposal.move is Move.WITHDRAW)
        super().execute(context)

    def _is_alive(self, context: Any, run: str) -> bool:
        return bool(context["ti"].get_dr_count(self.trigger_dag_id, run_ids=[run], states=_ALIVE))

    def _has_begun(self, context: Any, run: str) -> bool:
        """Whether a run was approved and is past being asked: its claim looks at the cluster once more by itself."""
        states = context["ti"].get_task_states(self.trigger_dag_id, task_ids=["claim"], run_ids=[run])
        return states.get(run, {}).get("claim") is not None

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
