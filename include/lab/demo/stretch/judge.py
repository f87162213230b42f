"""Compares what was predicted with what happened. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.demo.stretch.happened import PartitionNow
from lab.demo.stretch.writers import Partition

#: What a broker answers to a write for which too few replicas are in sync.
_REFUSALS = ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")


@dataclass(frozen=True, slots=True)
class JudgedPartition:
    """One partition that somebody writes to.

    :param stall: the longest time without an acknowledgement while the site was lost, in seconds
    :param lost: acknowledged records that are not in the log in the end
    :param doubled: records that are there more than once
    """

    partition: Partition
    predicted: str
    happened: str
    predicted_leader: int | None
    leader: int | None
    stall: float
    acknowledged: int
    lost: int
    doubled: int

    @property
    def right(self) -> bool:
        """Whether the prediction was right, and nothing was lost or doubled."""
        as_said = self.predicted == self.happened and self.predicted_leader == self.leader
        return as_said and not self.lost and not self.doubled


def outcome(now: PartitionNow, tried: str, acknowledged: int) -> str:
    """Return what became of a partition.

    :param tried: how a write with acks=all ended
    :param acknowledged: how many records its writer got acknowledged in the last seconds
    """
    if now.leader is None:
        return "stops" if not acknowledged else "acknowledged without a leader"
    if tried == "written":
        return "continues" if acknowledged else "written, but not by its writer"
    if tried in _REFUSALS:
        return "refuses" if not acknowledged else "refused, but not to its writer"
    return tried


def wrong_leaders(predicted: Mapping[str, Any], now: Mapping[Partition, PartitionNow]) -> list[str]:
    """Return a sentence for each partition of the prediction, Kafka's own ones too, that another broker leads."""
    return [
        f"{row['topic']}-{row['partition']}: predicted {row['leader_after']}, led by {found.leader}"
        for row in predicted["partitions"]
        if (found := now[row["topic"], row["partition"]]).leader != row["leader_after"]
    ]


def wrong_load(predicted: Mapping[str, Any], now: Mapping[Partition, PartitionNow]) -> list[str]:
    """Return a sentence for each broker that leads another number of partitions than was predicted."""
    judged = {(row["topic"], row["partition"]) for row in predicted["partitions"]}
    leads = Counter(found.leader for partition, found in now.items() if partition in judged)
    return [
        f"broker {row['broker']}: predicted {row['leaders_after']} partitions, leads {leads[row['broker']]}"
        for row in predicted["load"]
        if leads[row["broker"]] != row["leaders_after"]
    ]


def losses(acknowledged: Mapping[int, float], contents: Counter[int]) -> tuple[int, int]:
    """Return how many acknowledged records are missing, and how many records are there more than once."""
    return sum(record not in contents for record in acknowledged), sum(times > 1 for times in contents.values())
