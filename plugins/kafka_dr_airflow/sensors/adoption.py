"""The approvals of a take over and of a release."""

from __future__ import annotations

from typing import Any

from kafka_dr_airflow.sensors.manual_approval import ManualApprovalSensor


class TakeOverApprovalSensor(ManualApprovalSensor):
    """Asks whether existing replication is replaced, with the faults that its copy has."""

    def __init__(self, *, number: int, **kwargs: Any) -> None:
        super().__init__(number=number, verb="take_over", **kwargs)


class ReleaseApprovalSensor(ManualApprovalSensor):
    """Asks whether a group is released."""

    def __init__(self, *, number: int, **kwargs: Any) -> None:
        super().__init__(number=number, verb="un_adopt", **kwargs)
