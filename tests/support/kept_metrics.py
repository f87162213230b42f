"""Stored results of healthy groups, as the watches keep them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.topology.model import Topology
from kafka_dr.watch_results import WATCHES, KeptResult, WatchName, WatchResultStore

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_OK = ReadinessCheck("standby_space", "ok", "enough", NOON)
_NOT_NEEDED = ReadinessCheck("not_needed", "ok", "the standby is a copy", NOON)

#: What health keeps of the register.
REGISTER: dict[str, Any] = {
    "phase": "stable",
    "active": "east",
    "standby": "west",
    "epoch": 3,
    "verb": "planned_failover",
    "run": "manual__1",
    "recorded_at": "2026-03-01T07:36:00+00:00",
    "approved_by": "alice",
    "held": False,
}

FACTS: dict[WatchName, dict[str, Any]] = {
    "health": {**REGISTER, "open_checks": {}, "denies_added": 0},
    "readiness": facts_of(
        (
            VerbReadiness("planned_failover", (_OK,)),
            VerbReadiness("unplanned_failover", (_OK,)),
            VerbReadiness("failback", (_NOT_NEEDED,)),
        )
    ),
    "canary": {"verdict": "on_time", "rpo_seconds": 0.0, "seconds": 0.4, "sent": 2, "arrived": 2},
    "lag": {
        "verdict": "ok",
        "records": 7,
        "bytes": 700,
        "seconds": 0.5,
        "latency": {"p50": 0.1, "p95": 0.2, "p99": 0.3, "max": 0.4},
        "headroom_seconds": 3600.0,
        "consumer_groups": {"OK": 3},
        "findings": {},
        "at": "2026-03-01T11:59:00+00:00",
    },
    "checksum": {
        "verdict": "equal",
        "verified_rpo_seconds": 2.0,
        "unverified_offsets": 12,
        "findings": {},
        "at": "2026-03-01T11:55:00+00:00",
    },
    "offsets": {"verdict": "ok", "redelivered": 0, "mm2_redelivered": 570},
}


def kept(group: str, watch: WatchName, **more: Any) -> KeptResult:
    """Return a good result of a watch, looked at noon."""
    given: dict[str, Any] = {"outcome": "ok", "sentences": ("all is good",), "facts": FACTS.get(watch, {}), **more}
    return KeptResult(group, watch, looked_at=given.pop("looked_at", NOON), run="scheduled__1", **given)


def all_kept(group: str) -> dict[WatchName, Any]:
    """Return a good result of every watch."""
    return {name: kept(group, name) for name in WATCHES}


def topology_of(*groups: str, conflicts: tuple[str, ...] = ()) -> Topology:
    """Return as much of a topology as metrics read.

    :param conflicts: blocks whose conflicts are audited
    """
    objectives = SimpleNamespace(rto_seconds=60, rpo_seconds=60, write_outage_seconds=5)
    spec = SimpleNamespace(clusters=("east", "west"), watch="normal", objectives=objectives)
    apart = {"stretched": {}, "conflicts": dict.fromkeys(conflicts, ("conflicts",))}
    declared = SimpleNamespace(protection_groups=dict.fromkeys(groups, spec), watched_apart=apart)
    return cast("Topology", declared)


def keep(root: Path, sentence: str = "all is good") -> None:
    """Keep a good result of every watch of the group orders, as of now.

    :param root: the evidence root
    """
    for watch in WATCHES:
        now = datetime.now(UTC)
        found = KeptResult("orders", watch, "ok", (sentence,), now, run="scheduled__1", facts=FACTS.get(watch, {}))
        WatchResultStore(root).keep_round(watch, [found], declared=["orders"])
