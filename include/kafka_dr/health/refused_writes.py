"""A run that refuses writes for too long is named, however alive it is: applications wait for it, not for its evidence.

Since when writes are refused is journaled before the first DENY. They are accepted again when the journal says that the
target takes writes, or when the run is rolled back. In an unplanned failover they count as refused since the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.durations import duration
from kafka_dr.health.half_moved import HALF_MOVED, ways_out
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.admitted_writes import admitted_at

#: No run is named before writes were refused for so long, however strict the objective is.
_SHORTEST = timedelta(seconds=30)
#: The multiple of the objective after which something is wrong, and not only slow.
_OBJECTIVES = 3


def longest_outage(objective_seconds: float) -> timedelta:
    """Return how long a run may refuse writes until it is named.

    :param objective_seconds: ``write_outage_seconds`` of the protection group
    """
    return max(_SHORTEST, timedelta(seconds=_OBJECTIVES * objective_seconds))


def check_refused_writes(
    state: RegisterState, journals: Iterable[Mapping[str, Any]], *, now: datetime, allowed: timedelta
) -> Check | None:
    """Judge for how long the run that holds a group refuses writes.

    :param journals: the facts of that run, of each register that answered
    :param allowed: see :func:`longest_outage`
    :returns: ``None`` if writes are not refused for too long
    """
    since = _refused_since(state, list(journals))
    if since is None or now - since <= allowed:
        return None
    said = (
        f"run {state.run} (epoch {state.epoch}, {state.phase}) refuses the writes of {state.group} for "
        f"{duration(now - since)}, expected at most {duration(allowed)}: look at its task. "
        f"If that does not continue, {ways_out(state)}"
    )
    return Check(HALF_MOVED, "failed", said, facts={"run": state.run})


def _refused_since(state: RegisterState, journals: list[Mapping[str, Any]]) -> datetime | None:
    """Return since when neither cluster accepts writes because of a run; ``None`` if one does."""
    if state.phase not in (Phase.SWITCHING, Phase.HANDED_OVER) or any(map(admitted_at, journals)):
        return None
    begun = [datetime.fromisoformat(facts["fence_begun"]["at"]) for facts in journals if "fence_begun" in facts]
    if state.verb == "unplanned_failover":
        begun.append(state.at)
    return min(begun, default=None)
