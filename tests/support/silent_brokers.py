"""Brokers that do not say whether applications are let in: their refusals are all they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

from kafka_dr.clusters import ClusterUnreachable, TopicPartition, WriteAnswer, write_permission
from kafka_dr.clusters.large_record import LargeRecord
from kafka_dr.fencing import proof
from kafka_dr.runs import group_context


def _no_second_question(
    _: object, leaders: Mapping[TopicPartition, int], _configs: object
) -> dict[TopicPartition, WriteAnswer]:
    return {partition: WriteAnswer(partition, "unknown", "it does not say") for partition in leaders}


@contextmanager
def silent_brokers() -> Iterator[None]:
    """Ask the leaders in words that they answer only with a refusal, and no coordinator at all."""
    with (
        mock.patch.object(write_permission, "invalid_batch", return_value=b"no batch at all"),
        mock.patch.object(LargeRecord, "ask", _no_second_question),
        mock.patch.object(proof, "reads_allowed", side_effect=ClusterUnreachable("the coordinators moved")),
        mock.patch.object(group_context, "PROOF_SECONDS", 0.2),
    ):
        yield
