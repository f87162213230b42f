"""Set each consumer group's offsets on the target, from what is known there; never past an unread record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned import cut_over_groups as planned
from kafka_dr.failover.unplanned import last_known, translate_without_source
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.failover.unplanned.read_in_copies import read_in_copies
from kafka_dr.group_offsets import committed_positions, local_groups, other_topics
from kafka_dr.group_offsets.transfers import along_flow, transfers
from kafka_dr.named_rows import groups_from_json
from kafka_dr.offsets.translate.answers import TranslatedOffset, Translation, translations_from_json
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.positions import Committed
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
    known_last, reached = last_known.positions(run), CopyReached.from_json(run.fact(UNVERIFIED))
    found = replace(known_last, groups=local_groups.without_running(run, known_last.groups))
    translated = translate_without_source.translate(run, reached, found)
    called, known = along_flow(run).at_target, along_flow(run).of_source
    copied = {group: known(offsets, run.group.owns_topic) for group, offsets in found.groups.items()}
    stale = committed_positions.stale_offsets(run, copied)
    found_before = [*translated, *(replace(each, partition=called(each.partition)) for each in stale)]
    return [*found_before, *in_originals(run, but=found_before)]


def _by_content(run: Run) -> list[TranslatedOffset] | None:
    """Translate by content while the source can be read; ``None`` if it is silent again or an offset stays unknown."""
    committed = last_known.positions(run).groups
    try:
        translated = background.ask(run.source, lambda: planned.transferred(run, committed), seconds=_SOURCE_SECONDS)
    except KafkaDrError:
        return None
    return None if any(position.target_offset is None for position in translated) else translated


def in_originals(run: Run, *, but: Iterable[TranslatedOffset] = ()) -> list[TranslatedOffset]:
    """Return where groups read on in topics that the source had copies of: the target's, and those of third clusters.

    When the group left the target, its consumer groups were frozen there: what they had committed then is not past a
    record that they have not read. How far they have read the copies since is known as far as offset syncs say it. So
    they read some of it again, and without either all that is there.

    :param but: offsets that are known otherwise
    """
    if run.opens_copy:
        return []
    rests = set(local_groups.rest_groups(run).values())
    placed = {(each.group, each.partition) for each in but}
    owns, known = run.group.owns_topic, last_known.positions(run).groups
    topics = {
        group: {p.topic for each in transfers(run) for p in each.of_source(of, owns)} for group, of in known.items()
    }
    frozen = _when_it_left(run)
    found: list[TranslatedOffset] = []
    for transfer in transfers(run)[1:]:
        target, read = transfer.target_of(run, "operator"), read_in_copies(run, transfer, known)
        for p, log in sorted(held_by(target, target.topics.partitions(owns), uncommitted=True).items()):
            there = transfer.at_target(p)
            for group in sorted(known.keys() - rests):
                if (group, there) not in placed and (p.topic in topics[group] or there in frozen.get(group, {})):
                    synced, left_at = read.get(group, {}).get(p, 0), frozen.get(group, {}).get(there, 0)
                    at = min(max(left_at, synced, log.start), log.end)
                    left = log.end - at
                    said = (
                        f"as far as it was read on {run.source} when that was seen last, by offset syncs"
                        if synced > left_at
                        else f"as it was when the group left {run.target}; how far it was read on {run.source} is "
                        "unknown"
                    )
                    found.append(Translation(at, at, "bounded" if left else "exact", left, said).of(group, there))
    return found


def _when_it_left(run: Run) -> Committed:
    """Return what groups had committed on the target when the group was moved from there last; empty if it never was.

    A run that was rolled back has frozen nothing that counts, and one that lost that cluster knows nothing of it.
    """
    left = {
        name: facts
        for name, facts in run.history.items()
        if "opened" in facts and facts.get("claim", {}).get("source") == run.target
    }
    newest = max(left, key=lambda name: int(left[name]["claim"]["epoch"]), default="")
    return groups_from_json(left[newest]["drained"]["group_offsets"]) if "drained" in left.get(newest, {}) else {}
