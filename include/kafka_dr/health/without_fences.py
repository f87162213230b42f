"""What a health check says of a group whose record requires no fence: it is being adopted or released, or it was.

Nothing is touched. A run that holds such a group and makes no progress is named: meanwhile nothing protects the group.
"""

from __future__ import annotations

from datetime import datetime

from kafka_dr.health.kept_facts import half_moved_facts, heard_from
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.health.stalled_runs import check_run
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.watch_results import WatchOutcome
from kafka_dr.watch_results.kept import READ_AT

#: In these phases the record requires no fence.
WITHOUT_FENCES = frozenset({Phase.ADOPTING, Phase.RELEASING, Phase.RELEASED})


def without_fences(
    context: GroupContext, state: RegisterState, registers: RegisterAnswers, *, asked_at: datetime, too_slow: str
) -> WatchResult:
    """Say what is known of such a group, and which run has to be ended.

    :param asked_at: the registers were read after this moment, UTC
    :param too_slow: why this worker could not ask every cluster; empty if it could
    """
    group = context.group.name
    found = check_run(context, state)
    held = f"{group} is {state.phase} by run {state.run} (epoch {state.epoch})"
    facts = {
        "phase": state.phase.value,
        "run": state.run,
        "held": state.is_held,
        READ_AT: asked_at.isoformat(),
        **half_moved_facts((found,)),
        **heard_from(registers, too_slow=too_slow),
    }
    if found.outcome == "ok":
        said = "it is not adopted" if state.phase is Phase.RELEASED else "it is not protected until that run has ended"
        return WatchResult(group, "left_alone", (f"{held}: {said}, nothing is touched",), facts)
    outcome: WatchOutcome = "failed" if found.outcome == "failed" else "unknown"
    return WatchResult(group, outcome, (found.detail,), {**facts, "open_checks": {found.name: outcome}})
