"""What the journal says about the side that was left in an unplanned failover."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.errors import NeedsPerson
from kafka_dr.positions import TopicPartition
from kafka_dr.register.state import RegisterState

#: The fact of a failback's step ``prepare_old_cluster``; journals keep it under the former name of that step.
OLD_CLUSTER_PREPARED = "set_aside"

History = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Abandonment:
    """How a side was left.

    :param run: the unplanned run that left it
    :param epoch: of that run
    :param old: the cluster that was left
    :param new: the cluster that is active since
    :param new_ends: where the new side's logs ended when nothing could be copied any more: what lies below came from
        the old side, what lies behind is new
    """

    run: str
    epoch: int
    old: str
    new: str
    new_ends: Mapping[TopicPartition, int]


def abandonment(history: History, state: RegisterState) -> Abandonment:
    """Return how the side that a group left behind was left.

    :param history: everything journaled about the group, by run and fact
    :param state: the register's record of a group that is unfenced or diverged
    :raises NeedsPerson: no run has journaled it
    """
    held = {
        run: facts["flow_seed"]
        for run, facts in history.items()
        if _is_of(facts.get("flow_seed"), state) and "target_ends" in facts
    }
    if not held:
        raise NeedsPerson(
            f"the journal of {state.group} holds no unplanned failover from {state.standby} to {state.active}: nobody "
            "knows where the new side's own records begin; compare both sides by hand"
        )
    run = max(held, key=lambda name: int(held[name]["epoch"]))
    return Abandonment(
        run=run,
        epoch=int(held[run]["epoch"]),
        old=state.standby,
        new=state.active,
        new_ends=_positions(history[run]["target_ends"]["ends"]),
    )


def failback_changed_it_since(history: History, run: str, *, by_others_than: str = "") -> bool:
    """Return whether a failback has begun to change the side that an unplanned run left.

    From then on its logs tell nothing any more about what is stranded there: the list that was made before counts.

    :param run: the unplanned run
    :param by_others_than: a failback that does not count
    """
    return any(
        name != by_others_than and OLD_CLUSTER_PREPARED in facts and facts.get("claim", {}).get("left_by") == run
        for name, facts in history.items()
    )


def _is_of(seed: Mapping[str, Any] | None, state: RegisterState) -> bool:
    """Whether a seed is that of a flow that an unplanned run left unstarted, towards the side that it left."""
    return (
        seed is not None
        and bool(seed.get("held"))
        and (seed["source"], seed["target"]) == (state.active, state.standby)
        and int(seed["epoch"]) <= state.epoch
    )


def _positions(rows: Collection[Collection[Any]]) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, int(number)): int(offset) for topic, number, offset in rows}
