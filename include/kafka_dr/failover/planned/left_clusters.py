"""Clusters that an earlier run has left, and that no failback has made a copy again yet: a planned failover passes by.

They stay what they are, and refuse writes before and after it. What they hold more is listed later, against the cluster
that is active then. A failback that was begun and abandoned has a list of its own, which would be forgotten.
"""

from __future__ import annotations

from functools import partial

from kafka_dr.errors import NeedsPerson
from kafka_dr.outcomes import Check
from kafka_dr.register.abandonment import abandonment
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

NAME = "left_clusters_refuse"
#: How long they may take to answer, in seconds, all at the same time.
_SECONDS = 2.0


def left_clusters_refuse(run: Run) -> Check:
    """Return whether each diverged standby refuses writes now, and no failback of it was begun.

    One that does not answer was proven to refuse them before, and ``dr_health`` proves it again when it does.
    """
    state = run.record()
    left = state.roles.given_up
    begun = [f"failback {name} has begun to make {each} a copy again" for each in left for name in _begun(run, each)]
    if begun:
        return Check(NAME, "failed", f"{'; '.join(begun)}: run another one to its end first, or its list is forgotten")
    asked = {name: partial(run.writes_refused, name) for name in left}
    answers = background.answers_within(asked, seconds=_SECONDS)
    found = {name: answer for name, answer in answers.items() if isinstance(answer, Check)}
    wrong = [f"{name}: {answer.detail}" for name, answer in found.items() if not answer.passes]
    if wrong:
        open_there = any(answer.outcome == "failed" for answer in found.values())
        return Check(NAME, "failed" if open_there else "unknown", f"{'; '.join(wrong)}: dr_health fences it")
    if silent := [f"{name} does not answer: {answers[name]}" for name in left if name not in found]:
        return Check(NAME, "excused", f"{'; '.join(silent)}. It refused writes when it was seen last")
    return Check(NAME, "ok", f"{' and '.join(left)} {'refuses' if len(left) == 1 else 'refuse'} writes, as before")


def _begun(run: Run, standby: str) -> list[str]:
    """Return the failbacks that were begun since a cluster was left, and did not make it a copy."""
    try:
        left_by = abandonment(run.history, run.record(), standby).name
    except NeedsPerson:
        # No failback can have begun.
        return []
    return [name for name, facts in run.history.items() if facts.get("claim", {}).get("left_by") == left_by]
