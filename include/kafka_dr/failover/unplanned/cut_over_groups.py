"""Set each consumer group's offsets on the target, from what is known there; never past an unread record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned import cut_over_groups as planned
from kafka_dr.failover.unplanned import last_known, translate_without_source
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.group_offsets import committed_positions, other_topics
from kafka_dr.group_offsets.transfers import along_flow
from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation, translations_from_json
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.rescue.copy_reached import UNVERIFIED, CopyReached
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

#: How long a comparison with a drained source may take, in seconds; after that the offsets are found without it.
_SOURCE_SECONDS = 8.0

check = planned.check
prove = planned.prove


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"translate the last known offsets of each group and commit them on {run.target}",)


def act(run: Run) -> Mapping[str, Any]:
    """Translate, journal, commit."""
    translated = translations_from_json(run.journal.get("translations", {})) or _translated(run)
    rows = planned.journal_and_commit(run, translated)
    found = last_known.positions(run)
    return {
        "groups": rows,
        "positions_final": found.final,
        "positions_as_of": found.at.isoformat() if found.at else None,
        **left_out(run),
    }


def left_out(run: Run) -> dict[str, Any]:
    """Return the offsets outside the protection group that are not moved, as far as they are known."""
    seen = last_known.elsewhere(run)
    return other_topics.left_out(run, seen.rows if seen else ())


def _translated(run: Run) -> list[TranslatedOffset]:
    if SourceState.of(run.journal).drained and (translated := _by_content(run)) is not None:
        return translated
    found, reached = last_known.positions(run), CopyReached.from_json(run.fact(UNVERIFIED))
    translated = translate_without_source.translate(run, reached, found)
    called, known = along_flow(run).at_target, along_flow(run).of_source
    copied = {group: known(offsets, run.group.owns_topic) for group, offsets in found.groups.items()}
    stale = committed_positions.stale_offsets(run, copied)
    found_before = [*translated, *(replace(each, partition=called(each.partition)) for each in stale)]
    placed = {(each.group, each.partition) for each in found_before}
    return [*found_before, *(each for each in _in_originals(run) if (each.group, each.partition) not in placed)]


def _by_content(run: Run) -> list[TranslatedOffset] | None:
    """Translate by content while the source can be read; ``None`` if it is silent again or an offset stays unknown."""
    committed = last_known.positions(run).groups
    try:
        translated = background.ask(run.source, lambda: planned.transferred(run, committed), seconds=_SOURCE_SECONDS)
    except KafkaDrError:
        return None
    return None if any(position.target_offset is None for position in translated) else translated


def _in_originals(run: Run) -> list[TranslatedOffset]:
    """Return where groups read on in the target's own topics, whose copies they have read on the source.

    What a group has committed there, when it was there last, is not past a record that it has not read. How far it has
    read the copy since nobody can say without the source: it may read that again. Without an offset it reads all.
    """
    if run.opens_copy:
        return []
    target, owns = run.operator(run.target), run.group.owns_topic
    known = {group: along_flow(run).of_source(of, owns) for group, of in last_known.positions(run).groups.items()}
    kept, held = target.groups.offsets(known), held_by(target, run.partitions(run.target), uncommitted=True)
    found: list[TranslatedOffset] = []
    for group, offsets in sorted(known.items()):
        topics = {p.topic for p in (*offsets, *kept[group])}
        for p, log in sorted(held.items()):
            if p.topic in topics:
                at = min(max(kept[group].get(p, 0), log.start), log.end)
                left = log.end - at
                said = (
                    f"as committed on {run.target} when it was active; how far it was read on {run.source} is unknown"
                )
                found.append(Translation(at, at, "bounded" if left else "exact", left, said).of(group, p))
    return found
