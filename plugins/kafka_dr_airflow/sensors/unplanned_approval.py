"""The decision to give a cluster up: of one person, or of two different ones where the topology says so."""

from __future__ import annotations

from typing import Any

from kafka_dr_airflow.sensors.two_people import TwoPeopleSensor


class UnplannedApprovalSensor(TwoPeopleSensor):
    """Asks about an unplanned failover. How many have to say yes is ``disaster.approvers_needed`` of the topology."""

    consequence = "leaves the old side behind, with whatever has not crossed"

    def __init__(self, *, step: str, number: int, **kwargs: Any) -> None:
        super().__init__(step=step, number=number, verb="unplanned_failover", **kwargs)
