"""Find out whether the source is down: probe it from every vantage point, and once more after a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kafka_dr.approvals import decision
from kafka_dr.checks.audit_checks import newest_checksum_audit
from kafka_dr.disaster.disaster_rule import ClusterVerdict, judge
from kafka_dr.disaster.probes import take_probes
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned import last_known, most_copied, translate_without_source
from kafka_dr.failover.unplanned.checks import decision_facts, refused_at_once, unplanned_checks
from kafka_dr.failover.unplanned.cut_over_groups import in_originals
from kafka_dr.group_offsets import commit_metadata, group_costs
from kafka_dr.offsets.preview import total
from kafka_dr.offsets.translate.answers import TranslatedOffset, badness
from kafka_dr.outcomes import Check, Probe
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

#: How long the look at groups and loss may take, in seconds; after that they are shown as unknown.
_SECONDS = 20.0


def check(run: Run) -> Sequence[Check]:
    """The rule holds twice, ``confirm_seconds`` apart, and the target can be opened."""
    if not run.request.dry_run and (refused := refused_at_once(run)):
        return refused
    probes, verdict = _look(run)
    if verdict.answer == "down" or (run.request.override and verdict.signs):
        run.clock.sleep(run.group.timing.confirm_seconds)
        probes, verdict = _look(run)
    run.probes = tuple(probes)
    return unplanned_checks(run, verdict)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return ("write the decision facts, their digest, the probes and what is known of the loss to the evidence",)


def act(run: Run) -> Mapping[str, Any]:
    """Put facts and measurements together; nothing on any cluster is changed."""
    facts = decision_facts(run, run.checks)
    return {"decision": facts, "digest": decision.digest_of(facts), "measurements": measured(run)}


def _look(run: Run) -> tuple[list[Probe], ClusterVerdict]:
    probes = take_probes(run.group, run.clients, source=run.source, target=run.target)
    return probes, judge(run.source, probes, run.group.disaster)


def measured(run: Run) -> dict[str, Any]:
    """Return what is known of the loss and of the groups; needs the answers of the checks in ``run.checks``."""
    try:
        copied = background.ask("the flow's offsets", run.clients.replicator(run.flow).committed, seconds=_SECONDS)
        translated = background.ask(
            "the groups' offsets",
            lambda: _translated(run, CopyReached(copied)),
            seconds=_SECONDS,
        )
    except KafkaDrError:
        copied, translated = {}, []
    seen = last_known.look(run)
    state = run.record()
    standbys = most_copied.copied_to(run, state) if state.has_several else {}
    fetch_seconds = run.group.timing.fetch_seconds
    others_hold = most_copied.sentences(
        run.target, standbys, fetch_seconds=fetch_seconds, arrives_late=not run.opens_copy
    )
    survives = most_copied.by_any({**standbys, run.target: copied}) if copied and fetch_seconds else copied
    return {
        "predicted_loss": last_known.loss(run, survives),
        "groups": group_costs.costs(group_costs.decided(run.checks), _by_group(translated)),
        "groups_as_of": seen.at.isoformat() if seen else None,
        "more_than_offsets": list(seen.more_than_offsets) if seen else [],
        "probes": [asdict(probe) for probe in run.probes],
        "checksum_audit": newest_checksum_audit(run).sentence,
        "could_not_be_checked": _unchecked(run),
        **({"copied_to": most_copied.to_json(standbys)} if standbys else {}),
        **({"others_hold": others_hold} if others_hold else {}),
    }


def _translated(run: Run, reached: CopyReached) -> list[TranslatedOffset]:
    found = translate_without_source.translate(run, reached)
    return [*found, *in_originals(run, but=found)]


def _by_group(translated: Sequence[TranslatedOffset]) -> Iterator[dict[str, Any]]:
    """Yield a row for each group: the worst class of its offsets, and sums; a sum with an unknown part is unknown."""
    texts = commit_metadata.by_group(translated)
    for group in sorted({position.group for position in translated}):
        rows = [position for position in translated if position.group == group]
        yield {
            "group": group,
            "class": max((row.kind for row in rows), key=badness),
            "redelivered_at_most": total(row.redelivered_at_most for row in rows),
            "skipped_at_most": total(row.skipped_at_most for row in rows),
            "second_copies": sum(row.second_copies for row in rows),
            "metadata_left_out": commit_metadata.left_out(texts.get(group, {})),
        }


def _unchecked(run: Run) -> list[str]:
    unknown = [f"{probe.name} ({probe.detail})" for probe in run.probes if probe.outcome == "unknown"]
    return [
        f"what was written to {run.source} after the last look",
        f"open transactions on {run.source}, and its undeclared writers and readers",
        "whether the records that were copied after the verified frontier are equal",
        *unknown,
    ]
