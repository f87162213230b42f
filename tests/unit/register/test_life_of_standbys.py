"""Whatever runs do one after the other: no cluster that was given up is forgotten, and each can become a copy again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, transitions
from kafka_dr.register.membership import joined, leaving, left, stayed
from kafka_dr.register.roles import Role
from kafka_dr.register.state import phase_at_rest
from support.register_states import AT

CLUSTERS = ("east", "north", "west")


@dataclass
class Life:
    """A group with three clusters, and what is true of them.

    ``holds_more`` are the clusters that may hold records which no other one has.
    """

    state: RegisterState = field(
        default_factory=lambda: transitions.adopted(
            "orders", active="east", standbys=["west", "north"], run="adoption", at=AT
        )
    )
    holds_more: set[str] = field(default_factory=set)
    number: int = 0

    def signed(self) -> dict[str, Any]:
        self.number += 1
        at = AT + timedelta(minutes=self.number)
        return {"run": f"run-{self.number}", "evidence_sha256": "", "approved_by": "alice", "at": at}

    def unplanned(self, target: str, ends: str) -> None:
        source, signed = self.state.active, self.signed()
        run, at = signed["run"], signed["at"]
        claim = transitions.claimed_unplanned(
            self.state, source=source, target=target, highest_epoch=self.state.epoch, **signed
        )
        if ends == "rolled back":
            self.state = transitions.rolled_back(claim, run=run, at=at)
            return
        moved = transitions.handed_over(claim, run=run, at=at)
        if ends == "drained":
            self.state = transitions.settled(moved, run=run, at=at)
            return
        self.state = transitions.without_source(moved, run=run, fenced=ends == "fenced", at=at)
        self.holds_more.add(source)

    def planned(self, target: str, ends: str) -> None:
        signed = self.signed()
        run, at = signed["run"], signed["at"]
        claim = transitions.claimed(
            self.state,
            verb="planned_failover",
            source=self.state.active,
            target=target,
            highest_epoch=self.state.epoch,
            **signed,
        )
        if ends == "rolled back":
            self.state = transitions.rolled_back(claim, run=run, at=at)
            return
        self.state = transitions.settled(transitions.handed_over(claim, run=run, at=at), run=run, at=at)

    def failback(self, target: str, ends: str) -> None:
        signed = self.signed()
        begun = transitions.failback_begun(self.state, standby=target, **signed)
        if ends == "rolled back":
            self.state = transitions.failback_abandoned(begun, run=signed["run"], at=signed["at"])
        elif ends == "left":
            self.state = begun
        else:
            self.state = transitions.failed_back(begun, run=signed["run"], quarantine=(), at=signed["at"])
            self.holds_more.discard(target)

    def look(self, target: str, ends: str) -> None:
        """Let health and ``dr_flows`` look at a standby."""
        if self.state.roles.of(target) is Role.UNFENCED:
            self.state = transitions.fenced_on_return(self.state, at=AT, cluster=target)
        elif ends == "holds more":
            self.state = transitions.holds_more(self.state, target)
            self.holds_more.add(target)
        else:
            self.state = transitions.copied_again(self.state, target)

    def leaves(self, target: str, ends: str) -> None:
        signed = self.signed()
        claim = leaving(self.state, standby=target, **signed)
        if ends == "rolled back":
            self.state = stayed(claim, run=signed["run"], at=signed["at"])
            return
        self.state = left(claim, run=signed["run"], opened=ends == "done", at=signed["at"])
        self.holds_more.discard(target)

    def joins(self, target: str, ends: str) -> None:
        self.state = joined(self.state, target)

    def clear(self) -> Iterator[str]:
        """Do what a person does in the end, and yield each step."""
        if self.state.is_failing_back:
            self.state = transitions.failed_back(self.state, run=self.state.run, quarantine=(), at=AT)
            yield "the failback ends"
        for cluster in self.state.standbys:
            if self.state.roles.of(cluster) in (Role.UNFENCED, Role.PENDING):
                self.look(cluster, "copied")
                yield f"{cluster} is looked at"
        for cluster in self.state.roles.given_up:
            self.failback(cluster, "done")
            yield f"{cluster} is a copy again"
        for cluster in {*CLUSTERS} - {name for name, _ in self.state.roles.each}:
            self.state = transitions.copied_again(joined(self.state, cluster), cluster)
            yield f"{cluster} joins again"


MOVES = st.tuples(
    st.sampled_from(["unplanned", "planned", "failback", "look", "leaves", "joins"]),
    st.sampled_from(CLUSTERS),
    st.sampled_from(["rolled back", "drained", "fenced", "unfenced", "done", "left", "copied", "holds more"]),
)


@given(st.lists(MOVES, max_size=14))
@settings(max_examples=400, deadline=None)
def test_no_cluster_that_was_given_up_is_forgotten_and_each_becomes_a_copy_again(
    moves: list[tuple[str, str, str]],
) -> None:
    life = Life()
    for verb, target, ends in moves:
        before = life.state
        try:
            getattr(life, verb)(target, ends)
        except Refused:
            assert life.state == before
            continue
        state = life.state
        assert state.order > before.order
        assert RegisterState.from_json(state.to_json()) == state
        assert life.holds_more <= {*state.roles.given_up}, "a cluster was forgotten that holds records"
        assert state.active not in life.holds_more
        if not state.is_held:
            assert state.phase is phase_at_rest(state.roles)
    steps = list(life.clear())
    assert life.state.phase is Phase.STABLE, steps
    assert {*life.state.roles.copies} == {*CLUSTERS} - {life.state.active}
