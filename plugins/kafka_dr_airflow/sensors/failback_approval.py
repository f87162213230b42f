"""The decisions of people about a failback: one, or two different ones where data is deleted."""

from __future__ import annotations

from typing import Any

from kafka_dr_airflow.sensors.two_people import TwoPeopleSensor


class FailbackApprovalSensor(TwoPeopleSensor):
    """Asks about a failback. The second approval is asked where data is deleted, and never of who gave the first."""

    consequence = "lets the run do exactly this"
    one_is_enough = "Nothing is deleted, so one approval is enough: nobody else is asked."

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="failback", **kwargs)
