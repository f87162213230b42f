"""The seed of a flow: where it begins in each partition, as journaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.register import RegisterState
from kafka_dr.replication import Flow
from kafka_dr.runs.offset_rows import positions_from_json


@dataclass(frozen=True, slots=True)
class FlowSeed:
    """Where a flow begins, as journaled.

    :param epoch: of the register, when it was journaled; a roll back raises the epoch and keeps the seed
    :param positions: next to read on the flow's source; a partition that is not in it begins at its start
    :param keeps_place: whether a connector that replicated before the group was adopted continues at its own offsets
    """

    epoch: int
    flow: Flow
    positions: Mapping[TopicPartition, int]
    keeps_place: bool = False


def newest_seed(history: Mapping[str, Mapping[str, Any]], state: RegisterState) -> FlowSeed | None:
    """Return the newest seed that was journaled up to the register's epoch, whatever its direction.

    :param history: everything journaled about the group, by run and fact
    """
    seeds = [facts["flow_seed"] for facts in history.values() if "flow_seed" in facts]
    reached = [seed for seed in seeds if int(seed["epoch"]) <= state.epoch]
    if not reached:
        return None
    newest = max(reached, key=lambda seed: int(seed["epoch"]))
    return FlowSeed(
        epoch=int(newest["epoch"]),
        flow=Flow(state.group, newest["source"], newest["target"]),
        positions=positions_from_json(newest["source_positions"]),
        keeps_place=newest.get("mode") == "continue",
    )
