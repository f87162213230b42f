"""Measure the run and seal its evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kafka_dr.checks.topic_layout import old_cluster_unchanged
from kafka_dr.checks.writes_after_fence import WritesAfterFence
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.objectives import MeasuredObjective
from kafka_dr.failover import recovery, write_outage
from kafka_dr.failover.planned import open_target
from kafka_dr.failover.recovery import Recovery
from kafka_dr.group_offsets import left_to_do, other_topics
from kafka_dr.group_offsets.transfers import along_flow
from kafka_dr.group_offsets.translation_basis import basis_of_facts
from kafka_dr.offsets.translate.answers import TranslatedOffset, translations_from_json
from kafka_dr.offsets.translate.choice import with_checkpoint
from kafka_dr.offsets.translate.facts import gather
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs.report import Figures, ReportStep
from kafka_dr.runs.run import Run


def _measured(run: Run) -> tuple[Figures, Figures]:
    verified_at = datetime.fromisoformat(run.fact("verified")["at"])
    passed = WritesAfterFence.from_part(run.fact("verified"))
    translated = translations_from_json(run.fact("translations"))
    outage = write_outage.measured(run)
    recovered = recovery.of_planned(run, verified_at)
    figures = {
        "rto_seconds": recovered.seconds(run.group.objectives.rto_from),
        # Every record up to the drained ends was found by content on the target before it was opened.
        "rpo_seconds": 0.0 if passed.nothing else None,
        "write_outage_seconds": outage.seconds,
    }
    return figures, {
        "writes_refused_seconds": outage.refused_seconds,
        "write_pause_seen_seconds": outage.seen_seconds,
        "write_outage_detail": outage.detail,
        "past_the_fence": passed.detail,
        **_by_checkpoints(run, translated),
        **other_topics.left_out(run, other_topics.journaled(run.fact("drained")) or ()),
        "left_to_do": left_to_do.after(run, run.fact("drained")),
        **of_failover(run, figures, recovered, translated),
    }


def _proves(run: Run) -> Sequence[Check]:
    """No record was written to the old cluster after its fence, its topics are as they were, applications are let in.

    A missed objective does not fail the report; a lost record does.
    """
    passed = WritesAfterFence.from_part(run.fact("verified"))
    outcome: CheckOutcome = "ok" if passed.nothing else "excused" if passed.ends is None else "failed"
    return (
        Check("nothing_passed_the_fence", outcome, passed.detail),
        *open_target.applications_let_in(run),
        old_cluster_unchanged(run),
    )


REPORT = ReportStep("measure RTO, RPO, write outage and re-delivery", _measured, _proves)


def of_failover(
    run: Run, figures: Mapping[str, float | None], recovered: Recovery, translated: Collection[TranslatedOffset]
) -> Figures:
    """Return what the report of every failover shows of its figures."""
    again = [position.redelivered_at_most for position in translated]
    return {
        "redelivered_at_most": None if None in again else sum(filter(None, again)),
        "objectives": [_judged(run, name, value) for name, value in figures.items()],
        "rto_from": run.group.objectives.rto_from,
        "recovery": recovered.to_json(),
        "approved_at": run.fact("claim")["approved_at"],
        "verified_at": recovered.verified_at,
    }


def _judged(run: Run, name: str, value: float | None) -> dict[str, Any]:
    """Return a figure with its objective; an unknown figure neither meets nor misses it."""
    objectives = run.group.objectives
    limit: float = getattr(objectives, name)
    since = "approval" if name == "rto_seconds" and objectives.rto_from == "approval" else ""
    return MeasuredObjective(name, value, limit, since).to_json()


def _by_checkpoints(run: Run, translated: Collection[TranslatedOffset]) -> dict[str, Any]:
    """Return what MirrorMaker's own checkpoints would have done to offsets that were moved, as JSON.

    Nothing depends on it, so what cannot be looked up is reported and blocks nothing.
    """
    copies, owns = along_flow(run), run.group.owns_topic
    exact = [
        replace(each, partition=original)
        for each in translated
        if each.target_offset is not None and each.kind == "exact"
        for original in copies.of_target({each.partition: each}, owns)
    ]
    try:
        known = gather(basis_of_facts(run), {each.partition for each in exact}).partitions
    except KafkaDrError as error:
        return {"mm2_redelivered_at_most": None, "mm2_not_known": str(error)}
    checkpoints = [with_checkpoint(each.source_offset, known[each.partition], each) for each in exact]
    again = [found.mirrormaker_again for found in checkpoints if found.mirrormaker is not None]
    return {
        "mm2_redelivered_at_most": None if None in again else sum(count for count in again if count is not None),
        "mm2_without_checkpoint": sum(found.mirrormaker is None for found in checkpoints),
    }
