"""What the journal says about the old cluster after an unplanned failover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import positions_from_json
from kafka_dr.positions import TopicPartition
from kafka_dr.register.flow_seed import FlowSeed, journaled_seeds
from kafka_dr.register.port import History
from kafka_dr.register.state import RegisterState

#: The fact of a failback's step ``prepare_old_cluster``.
OLD_CLUSTER_PREPARED = "old_cluster_prepared"


@dataclass(frozen=True, slots=True)
class Abandonment:
    """How an unplanned failover left the old cluster.

    :param run: the unplanned run
    :param epoch: of that run
    :param old: the old cluster
    :param new: the cluster that has been active since
    :param new_ends: the high watermarks of the new cluster when replication was stopped: records below them came from
        the old cluster, later records are new
    """

    run: str
    epoch: int
    old: str
    new: str
    new_ends: Mapping[TopicPartition, int]


def abandonment(history: History, state: RegisterState) -> Abandonment:
    """Return how the unplanned failover of a group left the old cluster.

    :param history: everything journaled about the group, by run and fact
    :param state: the register's record of a group that is unfenced or diverged
    :raises NeedsPerson: no run has journaled it
    """
    held = {
        run: seed
        for run, seed in journaled_seeds(history).items()
        if _is_of(seed, state) and "target_ends" in history[run]
    }
    if not held:
        raise NeedsPerson(
            f"the journal of {state.group} holds no unplanned failover from {state.moved_with} to {state.active}, so "
            f"it is unknown which records were written only to {state.active}: compare both clusters by hand"
        )
    run = max(held, key=lambda name: held[name].epoch)
    return Abandonment(
        run=run,
        epoch=held[run].epoch,
        old=state.moved_with,
        new=state.active,
        new_ends=positions_from_json(history[run]["target_ends"]["ends"]),
    )


def failback_changed_it_since(history: History, run: str, *, by_others_than: str = "") -> bool:
    """Return whether a failback has begun to change the old cluster of an unplanned failover.

    From then on the old cluster's logs do not show any more what was stranded: the list that was made before is valid.

    :param run: the unplanned run
    :param by_others_than: a failback that is ignored
    """
    return any(
        name != by_others_than and OLD_CLUSTER_PREPARED in facts and facts.get("claim", {}).get("left_by") == run
        for name, facts in history.items()
    )


def _is_of(seed: FlowSeed, state: RegisterState) -> bool:
    """Whether a seed belongs to the flow to the old cluster that an unplanned run did not start."""
    between = (seed.source, seed.target) == (state.active, state.moved_with)
    return seed.held and between and seed.epoch <= state.epoch
