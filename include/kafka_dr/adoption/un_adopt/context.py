"""What the steps of a release share: to what the group is handed back, and what is known of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, cast

from kafka_dr.errors import Refused
from kafka_dr.outcomes import Check
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.register.most_registers import named
from kafka_dr.register.taken_over import EXISTING, RELEASE_ENDS
from kafka_dr.replication.existing.port import ExistingReplication, ExistingStatus, stored_status
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.request import HandBackTo
from kafka_dr.runs.run import Run

#: How a release ends: the group is handed back, or it stays adopted.
ReleaseEnd = Literal["handed_back", "kept"]


class ReleaseContext:
    """The facts of a release that several of its steps need.

    :param run: ``source`` is the active cluster, ``target`` the standby, of several one of them
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def leaving(self) -> str:
        """The only standby that leaves, while the group stays adopted; empty if the whole group is released."""
        claimed = self.run.journal.get("claim")
        if claimed is not None:
            return str(claimed["target"]) if claimed.get("leaves") else ""
        return self.run.target if self.run.request.leaves else ""

    @property
    def is_off(self) -> bool:
        """Whether a person has named the standby that leaves as known to be off: nothing is asked there."""
        return bool(self.leaving) and named([self.leaving], self.run.override)

    @property
    def hand_back_to(self) -> HandBackTo:
        """What copies the topics after the release; from the claim on: as approved."""
        if self.leaving:
            return "own_flow"
        claimed: HandBackTo | None = self.run.journal.get("claim", {}).get("hand_back_to")
        return claimed or self.run.request.hand_back_to

    @property
    def standbys(self) -> tuple[str, ...]:
        """Every standby that is released: all of them, or the one that leaves."""
        if self.leaving:
            return (self.leaving,)
        return (self.run.target, *self.run.further_standbys)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """This project's flows between the active cluster and the standby; one where a failover reverses it.

        The one from the standby may not exist yet: ``dr_flows`` makes it after the adoption.
        """
        forth, back = self.run.flow, self.run.flow_back
        if self.run.opens_copy or self.run.clients.replicator(back).status().state == "absent":
            return (forth,)
        return forth, back

    @property
    def flows_to_all(self) -> tuple[Flow, ...]:
        """The same, and those to further standbys."""
        return (*self.flows, *(replace(self.run.flow, target=name) for name in self.run.further_standbys))

    def own_flows(self, name: str) -> Check:
        """Return whether this project's flows run, which stay as they are.

        :param name: of the check
        """
        states = {flow.name: self.run.clients.replicator(flow).status() for flow in self.flows_to_all}
        runs = all(status.state == "running" for status in states.values())
        return Check.that(name, runs, ", ".join(f"{flow} is {status}" for flow, status in states.items()))

    @cached_property
    def existing(self) -> ExistingReplication:
        """The replication that was there before the adoption.

        :raises Refused: the topology declares none
        """
        return self.run.clients.replication.existing(self.run.flow)

    @cached_property
    def taken_over(self) -> Mapping[str, Any]:
        """What the take over of the group journaled.

        :raises Refused: the group was not taken over
        """
        overs = [
            f
            for f in self.run.history.values()
            if EXISTING in f and FLOW_SEED in f and FlowSeed.from_json(f[FLOW_SEED]).takes_over
        ]
        if not overs:
            raise Refused(f"no run has taken over {self.run.group.name}, so there is nothing to hand it back to")
        return max(overs, key=lambda facts: FlowSeed.from_json(facts[FLOW_SEED]).epoch)

    @property
    def was(self) -> ExistingStatus:
        """What the parts of that replication did before it was stopped."""
        return stored_status(self.taken_over[EXISTING]["status"])

    @property
    def direction(self) -> tuple[str, str]:
        """From where to where it copied."""
        seed = FlowSeed.from_json(self.taken_over[FLOW_SEED])
        return seed.source, seed.target

    def uncopied_topics(self) -> tuple[str, ...]:
        """Return the group's topics that nothing copies after the release; the canary topic then has no use.

        :raises Refused: the topology declares no replication to hand back to
        """
        if self.hand_back_to == "own_flow":
            return ()
        left = {p.topic for p in self.existing.uncopied(self.run.partitions(self.run.source))}
        return tuple(sorted(left - {self.run.group.canary_topic}))

    def ends_as(self, wanted: ReleaseEnd) -> ReleaseEnd:
        """Decide how the release ends, unless that is decided, and return how it ends: of two processes one is first.

        :raises OutcomeUnknown: it was not found out whether that was journaled
        """
        run = self.run
        fact = {"as": wanted, "at": run.clock.now().isoformat(), "to": self.hand_back_to}
        found = run.clients.register(run.source).add_fact(run.group.name, run.request.run, RELEASE_ENDS, fact)
        return cast("ReleaseEnd", found["as"])

    def decided_end(self) -> Mapping[str, Any] | None:
        """Return how the release ends, as the register holds it now; ``None`` if that is not decided."""
        run = self.run
        found = run.clients.register(run.source).facts(run.group.name, run.request.run).get(RELEASE_ENDS)
        return None if found is None else dict(found)
