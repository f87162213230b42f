"""Plans the changes that lead from the existing flows of a group to those that the register requires. Pure.

Invariants: at most one flow runs to a standby; the others are stopped before it is started. None runs from a standby,
unless copies have names of their own. No flow is created or resumed without the seed that was journaled for its
direction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kafka_dr.register import RegisterState
from kafka_dr.register.flow_seed import FlowSeed
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.replicator import FlowStatus


@dataclass(frozen=True, slots=True)
class ObservedFlow:
    """A flow as it was found.

    :param seed_epoch: the epoch of the seed that its source offsets started from; ``None`` if it was never seeded
    :param differing: the names of settings that differ from the topology
    """

    flow: Flow
    status: FlowStatus
    seed_epoch: int | None = None
    differing: tuple[str, ...] = ()


class FlowAction(StrEnum):
    """What to do with a flow."""

    STOP = "stop"
    CREATE = "create"
    UPDATE = "update"
    SEED = "seed"
    RESUME = "resume"
    RESTART = "restart"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class FlowChange:
    """One change, and why."""

    flow: Flow
    action: FlowAction
    reason: str

    def __str__(self) -> str:
        return f"{self.action} {self.flow.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """What to do with the flows of one protection group, in this order.

    :param problem: what only a person can fix; the plan may have changes as well
    """

    changes: tuple[FlowChange, ...]
    problem: str = ""

    @property
    def acts(self) -> bool:
        """Whether anything is to be changed."""
        return any(change.action is not FlowAction.LEAVE for change in self.changes)


def plan_flows(
    state: RegisterState,
    wanted: Flow,
    observed: Iterable[ObservedFlow],
    seed: FlowSeed | None,
    also: Mapping[Flow, FlowSeed | None] | None = None,
) -> FlowPlan:
    """Plan the changes that lead from the existing flows to the one that the register requires for a standby.

    :param state: the register record of a group that no run holds
    :param wanted: the flow that the standby is to have
    :param observed: every flow that concerns this standby, as ``flows_of`` names them
    :param seed: the newest journaled seed from or to it
    :param also: the flows that run as well, because copies have names of their own, each with its newest seed
    """
    flows = {found.flow: found for found in observed}
    also = also or {}
    others = [found for flow, found in flows.items() if flow != wanted and flow not in also]
    stops = tuple(_stop(found, wanted) for found in others if not found.status.at_rest)
    if seed is None or (seed.source, seed.target) != (wanted.source, wanted.target):
        other = Flow(state.group, seed.source, seed.target) if seed else None
        found_seed = f"the newest seed is for {other}" if other else f"the register has no seed of {state.group}"
        problem = (
            f"{wanted} has no journaled seed ({found_seed}): it is neither created nor resumed; find out why run "
            f"{state.run} journaled none"
        )
        return FlowPlan((*stops, FlowChange(wanted, FlowAction.LEAVE, problem)), problem)
    turns = [_turn(flows[flow], found) for flow, found in ((wanted, seed), *also.items()) if found is not None]
    unseeded = (f"{flow} has no journaled seed, so it is not started" for flow, found in also.items() if found is None)
    problems = (*(problem for _, problem in turns), *unseeded)
    changes = tuple(change for found, _ in turns for change in found)
    return FlowPlan((*stops, *changes), next(filter(None, problems), ""))


def _stop(found: ObservedFlow, wanted: Flow) -> FlowChange:
    reason = f"it is {found.status.state}, but only {wanted.source} → {wanted.target} may run"
    return FlowChange(found.flow, FlowAction.STOP, reason)


def _turn(found: ObservedFlow, seed: FlowSeed) -> tuple[Collection[FlowChange], str]:
    """Return what to do with the wanted flow, and what a person has to fix."""
    flow, state = found.flow, found.status.state
    seeded = found.seed_epoch == seed.epoch or (seed.keeps_offsets and found.seed_epoch is None and state != "absent")
    if not seeded and not found.status.at_rest:
        problem = (
            f"{flow.name} is {state}, but started from {_seed_name(found.seed_epoch)} and not from that of epoch "
            f"{seed.epoch}: it is stopped; check what it copied to {flow.target}"
        )
        return [FlowChange(flow, FlowAction.STOP, problem)], problem
    if seed.keeps_offsets and state == "absent":
        problem = (
            f"{flow.name} was adopted with the source offsets that it had, and does not exist any more: find out "
            "these offsets before it is created again"
        )
        return [FlowChange(flow, FlowAction.LEAVE, problem)], problem
    changes = []
    if state == "absent":
        changes.append(FlowChange(flow, FlowAction.CREATE, "the flow does not exist"))
    elif found.differing:
        changes.append(
            FlowChange(
                flow, FlowAction.UPDATE, f"these settings differ from the topology: {', '.join(found.differing)}"
            )
        )
    if not seeded:
        changes.append(
            FlowChange(flow, FlowAction.SEED, f"its source offsets are not those of the seed of epoch {seed.epoch}")
        )
    if state in ("absent", "stopped", "paused"):
        changes.append(FlowChange(flow, FlowAction.RESUME, f"{flow.target} is to have a copy of {flow.source}"))
    elif state == "failed":
        changes.append(FlowChange(flow, FlowAction.RESTART, found.status.detail or "it failed"))
    return changes or [FlowChange(flow, FlowAction.LEAVE, f"it is {state}, as it should be")], ""


def _seed_name(epoch: int | None) -> str:
    return "no seed" if epoch is None else f"the seed of epoch {epoch}"
