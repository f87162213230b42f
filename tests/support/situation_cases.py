"""The facts that make each situation, as watches, runs and questions keep them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.watch_results import WATCHES, KeptResult, OpenRun, RunEnding, RunningStep, WatchName
from kafka_dr.watch_results.running_steps import DEAD_AFTER
from support.kept_metrics import NOON, REGISTER, all_kept, kept

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
HEALTH: dict[str, Any] = {**REGISTER, "open_checks": {}, "silent": [], "fence_missing": [], "half_moved": ""}
ASKED = OpenRun("orders", "m9", "dr_planned_failover", "Move it?", ("alice", "bob"), NOON, NOON + 30 * MINUTE)
STEP = RunningStep("orders", "m9", "planned_failover", "drain", NOON, NOON, "host:1", holds=True)
#: One of each kind, and what a browser reads in each run; it reads the others with ``--long``.
USUAL = {
    *("well", "not_proven", "approval_waits", "run_moving", "stopped_before_hand_over", "active_silent", "diverged"),
    "drill_overdue",
}
#: Of these, those whose pages have most kinds of links, buttons and colours.
MOST_KINDS = {"well", "approval_waits", "stopped_before_hand_over", "active_silent"}
#: No text of a library, no id of a run and no key of a document is for people.
NOT_FOR_PEOPLE = re.compile(r"_[A-Z]{3,}|NoneType|manual__|\b[a-z]+_(?!health|resume|flows)[a-z_]+\b")


def results(**changed: Any) -> dict[WatchName, Any]:
    """Return good results of every watch, but those named."""
    found: dict[WatchName, Any] = all_kept("orders")
    found["health"] = replace(found["health"], facts=HEALTH)
    for name, result in changed.items():
        found[name] = result  # type: ignore[index]
    return found


def health(outcome: Any = "ok", said: str = "all is good", at: datetime = NOON, **facts: Any) -> KeptResult:
    return kept("orders", "health", outcome=outcome, sentences=(said,), looked_at=at, since=at, facts=HEALTH | facts)


def red(watch: WatchName, outcome: Any = "failed", **facts: Any) -> KeptResult:
    good = kept("orders", watch)
    return replace(good, outcome=outcome, sentences=("look at it",), facts={**good.facts, **facts}, since=NOON)


def ready(**checks: Any) -> KeptResult:
    """Return what readiness kept, with the outcome of a check by its verb."""
    none = VerbReadiness("failback", (ReadinessCheck("not_needed", "ok", "the standby is a copy"),))
    verbs = [
        VerbReadiness(verb, (ReadinessCheck("standby_space", checks.get(verb, "ok"), "west has no space: add a disk"),))
        for verb in ("planned_failover", "unplanned_failover")
    ]
    return kept("orders", "readiness", facts=facts_of((*verbs, none)))


DEAD = replace(STEP, seen_at=NOON - DEAD_AFTER)
NOT_BACK = RunEnding("m9", "dr_planned_failover", "NOT ROLLED BACK: no answer", False, NOON + SECOND)
ENDED = RunEnding("m9", "dr_planned_failover", "MOVED", True, NOON + SECOND, {"claim": 1.0})
REFUSED = RunEnding(
    "m8",
    "dr_failback",
    "REFUSED at preflight: quarantine\\_permits: Trigger a new run with the mode rebuild, because orders\\.state on "
    "east is compacted, and stranded records would be its newest values",
    False,
    NOON - SECOND,
)
SWITCHING: dict[str, Any] = {
    "phase": "switching",
    "held": True,
    "half_moved": "no process executes it",
    "half_moved_run": "m9",
}
DRILL: dict[str, Any] = {"overdue": False, "every_days": 30, "last": None}
CASES: dict[str, dict[str, Any]] = {
    "stopped_decider_away": {"health": health("failed", **SWITCHING, silent=["east"])},
    "stopped_register_away": {"health": health("failed", **{**SWITCHING, "phase": "handed_over"}, silent=["east"])},
    "stopped_after_hand_over": {"health": health("failed", **{**SWITCHING, "phase": "handed_over"})},
    "stopped_before_hand_over": {"health": health("failed", **SWITCHING)},
    "stopped_failback": {"health": health("failed", **{**SWITCHING, "phase": "diverged", "verb": "failback"})},
    "stopped": {"endings": (NOT_BACK,)},
    "mistake": {"health": health("failed", "the registers contradict each other", open_checks={"registers": "failed"})},
    "approval_waits": {"asked": (ASKED,)},
    "run_slow": {
        "running": (replace(STEP, seen_at=NOON + 39 * SECOND),),
        "endings": (replace(ENDED, run="m1", ended_at=NOON - MINUTE, steps={"drain": 5.0}),),
    },
    "run_moving": {"running": (replace(STEP, seen_at=NOON + 39 * SECOND),)},
    "just_ended": {"endings": (ENDED,)},
    "checks_late": {"health": health(at=NOON - 3 * MINUTE)},
    "nothing_answers": {"health": health("unknown", silent=["east", "west"])},
    "active_down": {"health": health("unknown", silent=["east"], active_down="east shows unreachable")},
    "active_silent": {"health": health("unknown", silent=["east"])},
    "active_unheard": {"health": health("unknown", unheard=["east"], answering=["west"])},
    "being_fenced": {"health": health("failed", phase="unfenced", answering=["east", "west"])},
    "old_cluster_away": {"health": health("failed", phase="unfenced", silent=["west"])},
    "not_fenced": {"health": health("failed", fence_missing=["west"])},
    "needs_rebuild": {"health": health("failed", phase="diverged"), "endings": (REFUSED,)},
    "diverged": {"health": health("failed", phase="diverged")},
    "standby_silent": {"health": health("unknown", silent=["west"])},
    "standby_unheard": {"health": health("unknown", unheard=["west"], answering=["east"])},
    "copy_lacks_records": {"checksum": red("checksum")},
    "canary_lost": {"canary": red("canary", verdict="lost")},
    "flow_stopped": {"flows": red("flows")},
    "not_adopted": {"health": kept("orders", "health", outcome="left_alone", facts={})},
    "check_red": {"config_sync": red("config_sync")},
    "standby_pending": {
        "health": health(standby="north and west (pending)", roles={"north": "copy", "west": "pending"})
    },
    "no_disaster_recovery": {"readiness": ready(unplanned_failover="failed")},
    "no_planned_failover": {"readiness": ready(planned_failover="failed")},
    "nothing_known": dict.fromkeys(WATCHES),
    "drill_died": {
        "readiness": replace(
            ready(), facts={**ready().facts, "drill": {**DRILL, "last": {"passed": None, "died": True}}}
        )
    },
    "drill_running": {
        "readiness": replace(ready(), facts={**ready().facts, "drill": {**DRILL, "last": {"passed": None}}})
    },
    "drill_overdue": {"readiness": replace(ready(), facts={**ready().facts, "drill": {**DRILL, "overdue": True}})},
    "not_proven": {"lag": red("lag", "unknown")},
    "take_over_unknown": {"readiness": ready(unplanned_failover="unknown")},
    "not_due_yet": {"checksum": red("checksum", "left_alone")},
    "noted": {"config_sync": red("config_sync", "warning")},
    "well": {},
}
