"""What the journal says about a cluster that may hold records which the active one lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_dr.errors import NeedsPerson
from kafka_dr.named_rows import positions_from_json
from kafka_dr.positions import TopicPartition
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed, fact_of_further, seeds_of_moves
from kafka_dr.register.port import History
from kafka_dr.register.state import RegisterState

#: The fact of a failback's step ``prepare_old_cluster``.
OLD_CLUSTER_PREPARED = "old_cluster_prepared"
#: The fact of an unplanned failover that has opened no copy: where the copies of the cluster that it left ended.
LEFT_WITH_COPIES = "left_with_copies"


@dataclass(frozen=True, slots=True)
class Abandonment:
    """How the run that opened the active cluster left another one, which may hold records that the active one lacks.

    :param run: that run
    :param epoch: of that run
    :param old: the cluster that was left
    :param new: the cluster that has been active since
    :param new_ends: the high watermarks of the new cluster when replication was stopped: records below them were
        copied, later records are new
    :param was_active: whether the run moved the group from the old cluster; else that was a standby then, or had been
        left by an earlier run
    :param still_copied: whether the old cluster was copied from the new one until records were fetched to it: so all
        that the new one holds may be there, whenever it was written
    """

    run: str
    epoch: int
    old: str
    new: str
    new_ends: Mapping[TopicPartition, int]
    was_active: bool = True
    still_copied: bool = False

    @property
    def name(self) -> str:
        """Of the list of what the old cluster holds: the run, which has one for each cluster that it has left."""
        return self.run if self.was_active else f"{self.run}.{self.old}"


def abandonment(history: History, state: RegisterState, old: str) -> Abandonment:
    """Return how a cluster was left by the run that opened the active one.

    :param history: everything journaled about the group, by run and fact, as the active cluster's register has it
    :param state: the register's record of a group of which that cluster is unfenced or diverged
    :raises NeedsPerson: no run has journaled it
    """
    if (left := _left_with_copies(history, state, old)) is not None:
        return left
    seeds = seeds_of_moves(history)
    opened = {run for run, seed in seeds.items() if seed.source == state.active and seed.epoch <= state.epoch}
    run = max(opened, key=lambda name: seeds[name].epoch, default="")
    since, copied = max(
        ((seed.epoch, name) for name, seed in _seeds_of_copy(history, state.active, old) if seed.epoch <= state.epoch),
        default=(-1, ""),
    )
    if copied and (not run or since >= seeds[run].epoch):
        return Abandonment(copied, since, old, state.active, {}, was_active=False, still_copied=True)
    # What it moved the group from and had copied completely it has not left: a later run is not journaled.
    if not run or (seeds[run].target == old and not seeds[run].held):
        raise NeedsPerson(
            f"the journal of {state.group} holds no unplanned failover from {old} to {state.active}, so "
            f"it is unknown which records were written only to {state.active}: compare both clusters by hand"
        )
    return Abandonment(
        run=run,
        epoch=seeds[run].epoch,
        old=old,
        new=state.active,
        new_ends=positions_from_json(history[run]["target_ends"]["ends"]),
        was_active=seeds[run].target == old,
    )


def _left_with_copies(history: History, state: RegisterState, old: str) -> Abandonment | None:
    """Return how a cluster was left whose copies have other names than their originals; ``None`` if none was."""
    names = (LEFT_WITH_COPIES, f"{LEFT_WITH_COPIES}.{old}")
    facts = {run: found[name] for run, found in history.items() for name in names if name in found}
    mine = {
        run: fact
        for run, fact in facts.items()
        if (fact["old"], fact["new"]) == (old, state.active) and int(fact["epoch"]) <= state.epoch
    }
    if not mine or not state.copies_named:
        return None
    run = max(mine, key=lambda name: int(mine[name]["epoch"]))
    return Abandonment(run, int(mine[run]["epoch"]), old, state.active, positions_from_json(mine[run]["new_ends"]))


def _seeds_of_copy(history: History, active: str, standby: str) -> Iterator[tuple[str, FlowSeed]]:
    """Yield the seeds of an adoption, which claims nothing, and those that ``dr_flows`` has found, with their runs.

    A standby that was copied from such a one, and did not become active since, holds nothing that it has not copied or
    that was not fetched to it.
    """
    for run, facts in history.items():
        is_adoption = not {"claim", "target_ends"} & facts.keys()
        for name in (fact_of_further(standby), *([FLOW_SEED] if is_adoption else [])):
            seed = FlowSeed.from_json(facts[name]) if name in facts else None
            if seed is not None and (seed.source, seed.target) == (active, standby):
                yield run, seed


def failback_since(history: History, cluster: str, epoch: int) -> str:
    """Return the newest failback that has begun to change a cluster after an epoch; empty if none has.

    What was copied from that cluster before has other offsets there since, or ends before records that were given up.

    :param history: everything journaled about the group, by run and fact
    """
    claims = {run: facts["claim"] for run, facts in history.items() if OLD_CLUSTER_PREPARED in facts}
    later = {run: int(claim["epoch"]) for run, claim in claims.items() if claim.get("target") == cluster}
    return max((run for run, at in later.items() if at > epoch), key=lambda run: later[run], default="")


def failback_changed_it_since(history: History, left_by: str, *, by_others_than: str = "") -> bool:
    """Return whether a failback has begun to change the old cluster that a list of stranded records is about.

    From then on the old cluster's logs do not show any more what was stranded: the list that was made before is valid.

    :param left_by: the name of the list
    :param by_others_than: a failback that is ignored
    """
    return any(
        name != by_others_than and OLD_CLUSTER_PREPARED in facts and facts.get("claim", {}).get("left_by") == left_by
        for name, facts in history.items()
    )
