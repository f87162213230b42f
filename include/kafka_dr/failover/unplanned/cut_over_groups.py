"""Set each consumer group's offsets on the target, from what is known there; never past an unread record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned import cut_over_groups as planned
from kafka_dr.failover.unplanned import last_known, translate_without_source
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.group_offsets import commit_metadata, committed_positions, other_topics
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.offsets.translate.answers import TranslatedOffset, translations_from_json
from kafka_dr.offsets.translate.pipeline import translate
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
    found = last_known.positions(run)
    translated = _by_content(run) if SourceState.of(run.journal).drained else None
    if translated is None:
        reached = CopyReached.from_json(run.fact(UNVERIFIED))
        translated = translate_without_source.translate(run, reached, found)
    return [*translated, *committed_positions.stale_offsets(run, found.groups)]


def _by_content(run: Run) -> list[TranslatedOffset] | None:
    """Translate by content while the source can be read; ``None`` if it is silent again or an offset stays unknown."""
    committed, policy = last_known.positions(run).groups, run.group.groups_policy
    try:
        translated = background.ask(
            run.source,
            lambda: commit_metadata.carry(run, translate(basis_of(run), committed, policy), committed),
            seconds=_SOURCE_SECONDS,
        )
    except KafkaDrError:
        return None
    return None if any(position.target_offset is None for position in translated) else translated
