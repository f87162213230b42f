"""Whether a disaster now would take more than the objective allows, by what the last checksum audit compared."""

from __future__ import annotations

from datetime import UTC

from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run
from kafka_dr.watch_results import KeptResult, WatchResultStore

NAME = "verified_rpo"


def rpo_verified(run: Run) -> Check:
    """Return whether the verified RPO of the group keeps its objective. It stops no run: a disaster does not wait."""
    try:
        kept = WatchResultStore(run.clients.evidence_root).read(run.group.name, "checksum")
    except (DocumentDamaged, OSError) as error:
        return Check(NAME, "warning", f"the result of the last checksum audit cannot be read: {error}")
    return judge_rpo(kept, run.group.objectives.rpo_seconds)


def judge_rpo(kept: KeptResult | None, objective: float) -> Check:
    """Judge what a checksum audit has kept.

    :param kept: ``None`` if there is none
    :param objective: of the group, in seconds
    """
    seconds = kept.facts.get("verified_rpo_seconds") if kept is not None else None
    if kept is None or isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        detail = "no checksum audit has measured what a disaster would take: let dr_checksum_audit run, or read its log"
        return Check(NAME, "warning", detail)
    said = f"{seconds:,.1f} s, as compared at {kept.looked_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if seconds > objective:
        wanted = f"expected at most {objective:g} s (objectives.rpo_seconds)"
        return Check(NAME, "warning", f"{said}; {wanted}: see dr_flows and the newest checksum audit")
    return Check(NAME, "ok", f"{said}; {objective:g} s are allowed")
