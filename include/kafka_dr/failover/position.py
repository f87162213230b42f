"""May this step run now? Decided from the register's record alone, so that nothing else needs to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kafka_dr.failover.request import StepName
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import way_out

#: ``here``: it is this step's turn. ``passed``: the run is further already. ``refused``: the run may not.
Verdict = Literal["here", "passed", "refused"]

_BEFORE_CLAIM = (StepName.PREFLIGHT, StepName.APPROVAL, StepName.CLAIM)
_OWNED_PHASES: dict[StepName, tuple[Phase, ...]] = {
    StepName.FENCE_SOURCE: (Phase.SWITCHING,),
    StepName.DRAIN: (Phase.SWITCHING,),
    StepName.STOP_FLOW: (Phase.SWITCHING,),
    StepName.CUT_OVER_GROUPS: (Phase.SWITCHING,),
    # After its own compare-and-set it still has a target to open.
    StepName.OPEN_TARGET: (Phase.SWITCHING, Phase.HANDED_OVER),
    StepName.FLIP_ROUTE: (Phase.HANDED_OVER,),
    StepName.VERIFY: (Phase.HANDED_OVER,),
    # Once settled there may be a register left that has not heard of it, or a reverse flow that did not start.
    StepName.PROTECT: (Phase.HANDED_OVER, Phase.STABLE),
    StepName.REPORT: (Phase.STABLE,),
}
_ORDER = {Phase.SWITCHING: 0, Phase.HANDED_OVER: 1, Phase.STABLE: 2}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands, and the sentence that says so."""

    verdict: Verdict
    detail: str


def position(step: StepName, run: str, state: RegisterState | None) -> Position:
    """Decide whether it is a step's turn.

    :param run: the run that asks
    :param state: the highest record, ``None`` where the group is not adopted
    """
    if state is None:
        return Position("refused", "no register has a record of this group: adopt it with dr_adopt first")
    if state.run == run and state.verb == "roll_back":
        return Position("refused", f"run {run} was rolled back (epoch {state.epoch}): trigger a new run")
    if step in _BEFORE_CLAIM:
        return _before_claim(step, run, state)
    if state.run != run:
        return Position("refused", f"the group belongs to {_standing(state)}: run {run} may not change it")
    if state.phase in _OWNED_PHASES[step]:
        return Position("here", f"the group is {state.phase} by this run (epoch {state.epoch})")
    wanted = _ORDER.get(_OWNED_PHASES[step][-1], -1)
    if _ORDER.get(state.phase, -1) > wanted:
        return Position("passed", f"this run is past {step}: the group is {state.phase}, active on {state.active}")
    return Position("refused", f"the group is {state.phase}: the steps before {step} have to be through first")


def _before_claim(step: StepName, run: str, state: RegisterState) -> Position:
    if state.run == run and step is StepName.CLAIM and state.phase is Phase.SWITCHING:
        # Whoever claimed it may have died before the other register was told.
        return Position("here", f"this run has claimed the group already (epoch {state.epoch})")
    if state.run == run:
        return Position("passed", f"this run has claimed the group already: it is {state.phase} (epoch {state.epoch})")
    if state.phase is Phase.STABLE:
        return Position("here", f"the group is stable on {state.active} (epoch {state.epoch})")
    return Position(
        "refused",
        f"the group belongs to {_standing(state)}: {way_out(state)}",
    )


def _standing(state: RegisterState) -> str:
    return f"run {state.run} ({state.phase}, epoch {state.epoch}, {state.active} active)"
