"""The task that creates the first record of a protection group in the DR register."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_dr.quoting import inline
from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.failover_step import COMPARED
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.operators.receipt import Receipt, perform
from kafka_dr_airflow.run_note import noted

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from kafka_dr.runs.record import StepRecord


_NOTES = {"passed": "NOTHING TO DO", "would_do": "DRY RUN"}


class AdoptOperator(FirstTask):
    """Writes the first record of a group and fences its standby. It also completes an interrupted adoption."""

    ui_color = "#dfeedd"
    operator_extra_links = (EvidenceLink(),)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"task_id": "adopt", "retries": 0, "execution_timeout": COMPARED, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> Receipt:
        """Adopt the group that the parameters of the run name."""
        from kafka_dr.adoption.adopt import adopt

        group, run = context["params"]["protection_group"], context["run_id"]
        dry_run = bool(context["params"].get("dry_run"))
        with noted(self.log, context) as note:

            def adopted(clients: Clients) -> StepRecord:
                create = bool(context["params"].get("create_canary_topic", False))
                record = adopt(group, clients, run, dry_run=dry_run, create_canary_topic=create)
                note.extend((_NOTES.get(record.outcome, "ADOPTED"), inline(record.detail)))
                return record

            return perform(self.log, adopted)
