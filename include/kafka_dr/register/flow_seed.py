"""The seed of a flow: where it begins in each partition. It is journaled before the flow starts.

No other module knows how a journal holds a seed: what starts a flow builds one, and what has to know where a flow began
reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from kafka_dr.codec import LaterPositions, StoredDocument, TopicIds, stored
from kafka_dr.positions import SeedPoint, TopicPartition
from kafka_dr.register.port import History
from kafka_dr.register.state import RegisterState

#: The name of the fact.
FLOW_SEED = "flow_seed"


def fact_of_further(standby: str) -> str:
    """Return the name of the fact that a run journals of the flow to a further standby of a group."""
    return f"{FLOW_SEED}.{standby}"


def fact_of_from_standby(source: str, target: str) -> str:
    """Return the name of the fact of a flow from a standby, where copies have names of their own."""
    return fact_of_further(f"{source}-to-{target}")


#: Where an adopted flow begins: at the start of every partition, at the offsets of a flow that already exists, or
#: where the replication ended that was taken over.
SeedMode = Literal["start", "continue", "take_over"]


@dataclass(frozen=True, slots=True)
class FlowSeed(StoredDocument):
    """Where a flow begins.

    :param epoch: of the register, when it was journaled; a roll back raises the epoch and keeps the seed
    :param source: the cluster that the flow reads
    :param target: the cluster that the flow writes to
    :param on_source: next to read on the source; a partition that is not in it begins at its start
    :param on_target: log ends of the target at that moment; empty if they are not known
    :param topic_ids: of the source's topics, which show later whether these offsets belong to the log that exists
        then; ``None`` if they were not looked up
    :param held: an unplanned failover journaled it and did not start the flow
    :param mode: of an adopted flow; ``None`` for all others
    :param alone: where copies have names of their own: only this flow begins here, and all others keep their seeds
    """

    epoch: int
    source: str
    target: str
    on_source: LaterPositions = field(metadata=stored("source_positions"))
    on_target: LaterPositions = field(default_factory=dict, metadata=stored("target_positions"))
    topic_ids: TopicIds | None = field(default=None, metadata=stored(omitted=True))
    held: bool = field(default=False, metadata=stored(omitted=True))
    mode: SeedMode | None = field(default=None, metadata=stored(omitted=True))
    alone: bool = field(default=False, metadata=stored(omitted=True))

    @property
    def keeps_offsets(self) -> bool:
        """Whether a flow that copied before the group was adopted continues at its own offsets."""
        return self.mode == "continue"

    @property
    def takes_over(self) -> bool:
        """Whether another replication made the copy below it, with faults that were approved."""
        return self.mode == "take_over"

    @property
    def points(self) -> dict[TopicPartition, SeedPoint]:
        """Where the records of both clusters correspond, in the direction of the flow."""
        shared = self.on_source.keys() & self.on_target.keys()
        return {p: SeedPoint(self.on_source[p], self.on_target[p]) for p in shared}


def journaled_seeds(history: History) -> dict[str, FlowSeed]:
    """Return every seed that was journaled about a group, by the run that journaled it.

    :param history: everything journaled about the group, by run and fact
    """
    return {run: FlowSeed.from_json(facts[FLOW_SEED]) for run, facts in history.items() if FLOW_SEED in facts}


def seeds_of_moves(history: History) -> dict[str, FlowSeed]:
    """Return the seeds of runs that moved a group, by run: each is of the flow back from the cluster that it opened.

    :param history: everything journaled about the group, by run and fact
    """
    return {run: seed for run, seed in journaled_seeds(history).items() if "target_ends" in history[run]}


def all_seeds(history: History) -> list[FlowSeed]:
    """Return every seed that was journaled about a group, also of flows to further standbys.

    :param history: everything journaled about the group, by run and fact
    """
    names = (FLOW_SEED, fact_of_further(""))
    found = ((name, fact) for facts in history.values() for name, fact in facts.items())
    return [FlowSeed.from_json(fact) for name, fact in found if name == names[0] or name.startswith(names[1])]


def newest(seeds: Iterable[FlowSeed]) -> FlowSeed | None:
    """Return the seed of the highest epoch; ``None`` if there is none."""
    return max(seeds, key=lambda seed: seed.epoch, default=None)


def newest_seed(history: History, state: RegisterState, standby: str) -> FlowSeed | None:
    """Return the newest seed of a flow from or to a standby, journaled up to the register's epoch.

    The flow to a standby whose newest seed is another one may not run: what the standby holds was copied by that one.
    Where copies have names of their own, both directions are seeded at once, and that from the active cluster counts.

    :param history: everything journaled about the group, by run and fact
    """
    wanted = (state.active, standby)
    known = (seed for seed in all_seeds(history) if seed.epoch <= state.epoch)
    counts = (seed for seed in known if not seed.alone or (seed.source, seed.target) == wanted)
    about = sorted((seed for seed in counts if standby in (seed.source, seed.target)), key=_is_from(state.active))
    return newest(reversed(about))


def newest_seed_of(history: History, source: str, target: str) -> FlowSeed | None:
    """Return the newest seed of a flow in its direction.

    :param history: everything journaled about the group, by run and fact
    """
    return newest(seed for seed in all_seeds(history) if (seed.source, seed.target) == (source, target))


def _is_from(cluster: str) -> Callable[[FlowSeed], bool]:
    return lambda seed: seed.source == cluster
