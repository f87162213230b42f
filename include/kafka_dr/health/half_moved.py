"""A group that is half moved: no program continues its run, and its applications may be refused writes.

That is the most urgent finding there is, so it has a check of its own, and comes first wherever something is shown. The
registers that answer say it. What only a silent register knows counts as the worse of what it may say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.durations import duration
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState, arbiter
from kafka_dr.register.state import HOLDING
from kafka_dr.runs.signs_of_life import has_ended, last_sign
from kafka_dr.watch_results.running_steps import DEAD_AFTER

#: The name of the check.
HALF_MOVED = "half_moved"
#: The kept fact that names its run; the check has the same under ``run``.
HALF_MOVED_RUN = "half_moved_run"
#: What follows a step that failed, another try or a roll back, begins within this time.
_NEXT_WITHIN = timedelta(seconds=15)
#: Runs of these phases can be abandoned as well as finished.
_BEFORE_THE_END = frozenset({Phase.SWITCHING, Phase.ADOPTING, Phase.RELEASING})

#: The facts of one run, of each register that answered.
Journals = Iterable[Mapping[str, Any]]


def ways_out(state: RegisterState) -> str:
    """Return how a person ends the run that holds a group: a decision of dr_resume, or commands."""
    can_be_abandoned = state.phase in _BEFORE_THE_END or state.is_failing_back
    decisions = "finish or abandon it" if can_be_abandoned else "finish it (it is past its point of no return)"
    names = ("resume", "abandon") if can_be_abandoned else ("resume",)
    return f"{decisions} with dr_resume, or with {_commands(state, names)}"


def half_moved(
    state: RegisterState, journals: Journals, *, silent: Iterable[str], seen: datetime | None, now: datetime
) -> Check | None:
    """Return what is wrong if no process can continue, or undo, the run of a record; ``None`` if nothing is.

    :param state: the newest record of the registers that answered
    :param silent: the clusters whose registers did not answer
    :param seen: when a process of the run last showed life outside the registers; ``None`` if that is not known. Of a
        failback only that is known while it audits
    """
    journals = list(journals)
    if state.verb == "roll_back" and state.run_phase is Phase.STABLE:
        return _half_rolled_back(state, journals, silent=silent, seen=seen, now=now)
    failing_back = state.is_failing_back and seen is not None
    if state.phase not in HOLDING and not failing_back:
        return None
    held = f"{state.group} is half moved: run {state.run} holds it ({state.phase}, epoch {state.epoch})"
    if (decides := arbiter(state)) in silent and not failing_back:
        instead = ""
        if state.phase is Phase.SWITCHING and state.verb != "unplanned_failover":
            instead = f". If {decides} stays away, move the group with dr_unplanned_failover"
        return _failed(
            f"{held}, and the register of {decides}, which decides, does not answer. So the run can neither continue "
            f"nor be rolled back, and applications may be refused writes: check {decides} now. When it answers, "
            f"{ways_out(state)}{instead}",
            state.run,
        )
    if (dead := _dead(state, journals, seen=seen, now=now)) is None:
        return None
    return _failed(f"{held}, and no process executes it: {dead}. {_refused(state)}: {ways_out(state)}", state.run)


def claimed_unseen(
    state: RegisterState, histories: Iterable[Mapping[str, Mapping[str, Any]]], *, silent: Iterable[str]
) -> Check | None:
    """Return what is wrong if a run may have claimed a group in a register that does not answer.

    A claim is journaled in both registers before the one that decides takes it.

    :param state: the newest record of the registers that answered
    :param histories: everything journaled about the group, of each of them
    :param silent: the clusters whose registers did not answer
    """
    if state.phase in HOLDING:
        return None
    claims = {run: facts["claim"] for found in histories for run, facts in found.items() if "claim" in facts}
    later = {run: claim for run, claim in claims.items() if int(claim["epoch"]) > state.epoch and run != state.run}
    silent = set(silent)
    for run, claim in sorted(later.items(), key=lambda each: int(each[1]["epoch"]), reverse=True):
        if decides := silent.intersection((claim["source"], claim["target"])):
            name = min(decides)
            return _failed(
                f"{state.group} may be half moved: run {run} was about to hold it (epoch {claim['epoch']}), and only "
                f"the register of {name}, which does not answer, knows whether it does. Applications may be refused "
                f"writes: check {name} now, and look at the run. If {name} stays away, move the group with "
                "dr_unplanned_failover",
                run,
            )
    return None


def _half_rolled_back(
    state: RegisterState,
    journals: list[Mapping[str, Any]],
    *,
    silent: Iterable[str],
    seen: datetime | None,
    now: datetime,
) -> Check | None:
    """Judge a roll back that the registers know, and that has not proven yet that the group is open again."""
    touched = any({"source_touched", "fence_begun"} & facts.keys() for facts in journals)
    dead = _dead(state, journals, seen=seen, now=now)
    if not touched or (dead is None and state.active not in silent):
        return None
    because = f"{state.active} does not answer" if state.active in silent else f"no process continues it: {dead}"
    return _failed(
        f"{state.group} is half moved: run {state.run} is rolled back in the register (epoch {state.epoch}), and "
        f"nobody has proven that {state.active} takes writes again, because {because}. Check {state.active} now, then "
        f"abandon the run once more with dr_resume, or with {_commands(state, ('abandon',))}",
        state.run,
    )


def _dead(
    state: RegisterState, journals: list[Mapping[str, Any]], *, seen: datetime | None, now: datetime
) -> str | None:
    """Say why no process executes the run of a record; ``None`` if one does."""
    sign = max(filter(None, (last_sign(state, journals), seen)))
    silent = now - sign
    if has_ended(state, journals) and silent > _NEXT_WITHIN:
        return f"the last one ended {duration(silent)} ago"
    return f"the last sign of life is {duration(silent)} old" if silent > DEAD_AFTER else None


def _refused(state: RegisterState) -> str:
    if state.phase in (Phase.SWITCHING, Phase.HANDED_OVER):
        return "Applications may be refused writes"
    if state.is_failing_back and state.followers:
        return f"{state.moved_with} is no copy"
    return "There is no standby" if state.phase is Phase.DIVERGED else "Nothing protects the group"


def _commands(state: RegisterState, names: Iterable[str]) -> str:
    return " or ".join(
        f"`python -m kafka_dr {name} --group {state.group} --run {state.run} --reason …`" for name in names
    )


def _failed(said: str, run: str) -> Check:
    return Check(HALF_MOVED, "failed", said, facts={"run": run})
