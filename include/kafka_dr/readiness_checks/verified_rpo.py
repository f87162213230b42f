"""Whether a disaster now would take more than the objective allows, by what the last checksum audit compared."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from kafka_dr.durations import duration
from kafka_dr.json_documents import is_number
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run
from kafka_dr.watch_results import CALM, FlowNow, WatchResultStore, WatchStatus, read_watch_status

NAME = "verified_rpo"


def rpo_verified(run: Run) -> Check:
    """Return whether the verified RPO of the group keeps its objective. It stops no run: a disaster does not wait."""
    store, name, now = WatchResultStore(run.clients.evidence_root), run.group.name, run.clock.now()
    health = read_watch_status(name, "health", store, now).result
    known = health.flow_now if health is not None else FlowNow()
    flow = known if known.active == run.source else FlowNow(run.source)
    checksum = read_watch_status(name, "checksum", store, now, flow=flow)
    return judge_rpo(checksum, run.group.objectives.rpo_seconds)


def judge_rpo(checksum: WatchStatus, objective: float) -> Check:
    """Judge what checksum audits have kept. What none has measured lately is never good.

    :param objective: of the group, in seconds
    """
    seconds = _measured(checksum.result.facts) if checksum.result is not None else None
    if checksum.result is None or seconds is None:
        detail = "no checksum audit has measured what a disaster would take: let dr_checksum_audit run, or read its log"
        return Check(NAME, "warning", f"{detail}. {checksum.reason}" if checksum.reason else detail)
    said = f"{seconds:,.1f} s, as compared at {checksum.result.looked_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if checksum.reason:
        return Check(NAME, "warning", f"what a disaster would take now is not known; it was {said}; {checksum.reason}")
    if checksum.outcome not in (*CALM, "failed"):
        why = "the newest checksum audit could not look at everything: read the log of dr_checksum_audit"
        return Check(NAME, "warning", f"what a disaster would take now is not known; it was {said}; {why}")
    if seconds > objective:
        wanted = f"expected at most {duration(objective)} (objectives.rpo_seconds)"
        return Check(NAME, "warning", f"{said}; {wanted}: see dr_flows and the newest checksum audit")
    return Check(NAME, "ok", f"{said}; {duration(objective)} are allowed")


def _measured(facts: Mapping[str, Any]) -> float | None:
    seconds = facts.get("verified_rpo_seconds")
    return seconds if is_number(seconds) else None
