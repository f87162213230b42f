"""Give each consumer group its place on the target, from what is known there; never past an unread record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned import cut_over_groups as planned
from kafka_dr.failover.unplanned import last_known, translate_without_source
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.group_offsets import other_topics, translation
from kafka_dr.offsets import TranslatedOffset
from kafka_dr.register import Phase
from kafka_dr.runs import background
from kafka_dr.runs.offset_rows import positions_from_json
from kafka_dr.runs.run import Run

#: What a source that was drained may take to be compared with; else the places are found without it.
_SOURCE_SECONDS = 8.0

check = planned.check
prove = planned.prove


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"place each group on {run.target} by its positions as they were known last, and commit them",)


def act(run: Run) -> Mapping[str, Any]:
    """Place, journal, commit."""
    placed = translation.from_json(run.journal.get("translations", {}).get("positions", [])) or _translated(run)
    rows = [translation.to_json(position) for position in placed]
    run.write_fact("translations", {"positions": rows})
    run.permission(Phase.SWITCHING)()
    run.operator(run.target).groups.set_offsets(planned.by_group(placed))
    found = last_known.positions(run)
    return {
        "groups": rows,
        "positions_final": found.final,
        "positions_as_of": found.at.isoformat() if found.at else None,
        **left_out(run),
    }


def left_out(run: Run) -> dict[str, Any]:
    """Return what the groups leave behind outside the protection group, as far as anybody knows."""
    seen = last_known.elsewhere(run)
    return other_topics.left_out(run, seen.rows if seen else ())


def _translated(run: Run) -> list[TranslatedOffset]:
    found = last_known.positions(run)
    placed = _by_content(run) if SourceState.of(run.journal).drained else None
    if placed is None:
        crossed = positions_from_json(run.fact("unverified")["crossed"])
        placed = translate_without_source.place(run, crossed, found)
    return [*placed, *translation.stale_offsets(run, found.groups)]


def _by_content(run: Run) -> list[TranslatedOffset] | None:
    """Translate by content while the source can be read; ``None`` where it went silent again, or a place is unknown."""
    frozen = last_known.positions(run).groups
    try:
        placed = background.ask(run.source, lambda: translation.translate(run, frozen), seconds=_SOURCE_SECONDS)
    except KafkaDrError:
        return None
    return None if any(position.target_offset is None for position in placed) else placed
