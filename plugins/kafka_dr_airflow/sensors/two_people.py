"""Approvals that may need two different people: unplanned failover and failback."""

from __future__ import annotations

from typing import Any

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor


class TwoPeopleSensor(ManualApprovalSensor):
    """Asks for the first or the second approval. The second is asked only if two are needed, and of other people."""

    #: What the log says if one approval is enough.
    one_is_enough = "One approval is enough for this group: nobody else is asked."

    def asks(self, context: Any) -> bool:
        """Return whether somebody has to be asked: not for a second approval that is not needed."""
        from kafka_dr.approvals.who_may_answer import needs_second
        from kafka_dr_airflow.task_clients import open_clients

        with plain_errors(), open_clients() as clients:
            if self.step == "approval" or needs_second(self.request(context), clients):
                return True
        self.log.info("%s", self.one_is_enough)
        return False


class UnplannedApprovalSensor(TwoPeopleSensor):
    """Asks for the approvals of an unplanned failover: as many as ``disaster.approvers_needed`` of the topology."""

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="unplanned_failover", **kwargs)


class FailbackApprovalSensor(TwoPeopleSensor):
    """Asks for the approvals of a failback: two if data is deleted, never from the same person."""

    one_is_enough = "Nothing is deleted, so one approval is enough: nobody else is asked."

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="failback", **kwargs)
