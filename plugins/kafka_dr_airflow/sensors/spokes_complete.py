"""A sensor for DAGs of others: waits until a hub holds everything that its spokes had at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from airflow.sdk.bases.sensor import BaseSensorOperator, PokeReturnValue

from kafka_dr_airflow.operators.plain_failure import plain_errors
from kafka_dr_airflow.task_clients import open_clients


class SpokesCompleteSensor(BaseSensorOperator):
    """Waits until the newest checksum audits say that a hub is complete up to a time, for a report of that day.

    It frees its slot of the pool between two looks. Leave at least 15 seconds between them (``poke_interval``): the
    process of a look ends a few seconds after it, and Airflow takes a look that begins before that for a failed one.
    Its result is the time up to which all spokes are complete, ISO 8601 in UTC.

    :param block: a block of ``hub_and_spoke`` in the topology
    :param hub: the cluster on which the report reads
    :param up_to: ISO 8601 with a zone, such as ``{{ data_interval_end }}``: each of these is a template
    :param topics: as the spokes call them; all topics of the block if left out
    """

    template_fields: Sequence[str] = ("block", "hub", "up_to", "topics")

    def __init__(self, *, block: str, hub: str, up_to: str, topics: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**{"mode": "reschedule", "poke_interval": 60.0, **kwargs})
        self.block, self.hub, self.up_to, self.topics = block, hub, up_to, topics

    def poke(self, context: Any) -> PokeReturnValue:
        """Look once, and log what is waited for."""
        from kafka_dr.checks.complete_up_to import all_complete, complete_up_to

        wanted = _moment(self.up_to)
        with plain_errors(), open_clients() as clients:
            found = complete_up_to(self.block, self.hub, clients, self.topics)
        for each in found:
            self.log.info("%s", each.sentence(self.hub))
        at = all_complete(found, wanted)
        return PokeReturnValue(is_done=at is not None, xcom_value=None if at is None else at.isoformat())


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ValueError(f"up_to is {text!r}, expected a time with its zone, such as 2026-11-29T00:00:00+00:00")
    return found
