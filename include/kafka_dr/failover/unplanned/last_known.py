"""What is known of the source without asking it: its groups, its ends, and what certainly has crossed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.audit import FileFrontierStore, KeptFrontier
from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets import last_look
from kafka_dr.group_offsets.other_topics import ReadElsewhere, journaled
from kafka_dr.offsets import LastLook
from kafka_dr.offsets.translate.answers import Kind
from kafka_dr.register import Phase
from kafka_dr.runs.offset_rows import groups_from_json
from kafka_dr.runs.run import Run

Offsets = Mapping[TopicPartition, int]
#: Choices of where a group begins that the target alone can tell, and how sure its position is then.
CHOSEN: Mapping[str, Kind] = {"earliest": "bounded", "latest": "declared"}


@dataclass(frozen=True, slots=True)
class KnownOffsets:
    """Where groups stood on the source, next to read.

    :param final: nothing can have been committed after: the groups were frozen, or are
    :param at: when they were read, where they are not final
    """

    groups: Mapping[str, Offsets]
    final: bool
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FlowStart:
    """The present direction of replication.

    :param epoch: of the seed that it began with; 0 where it always was this one
    :param since: when the run that turned it round began; ``None`` where that is not known
    """

    epoch: int
    since: datetime | None


def look(run: Run) -> LastLook | None:
    """Return the last look at the source since the present direction began; an earlier one is about other logs."""
    seen = last_look.kept(run, source=run.source, target=run.target)
    return seen if seen is not None and seen.epoch >= direction(run).epoch else None


def positions(run: Run) -> KnownOffsets:
    """Return where groups stood: as they were frozen, or as they were seen last."""
    mine, before = run.history.get(run.request.run, {}), taken_over(run)
    if "drained" in mine:
        return KnownOffsets(_frozen(mine), final=True)
    if "drained" in before:
        # That run may have been rolled back where nobody can look any more, and its groups may have gone on.
        return KnownOffsets(_frozen(before), final=False, at=datetime.fromisoformat(before["claim"]["claimed_at"]))
    seen = look(run)
    return KnownOffsets(seen.groups, final=False, at=seen.at) if seen else KnownOffsets({}, final=False)


def classes(run: Run) -> dict[str, Kind]:
    """Return how sure each group's position will be: exact only for what was read when nobody could go on.

    Whose owners chose the end goes past what is unread, and that is declared.
    """
    found = positions(run)
    kind: Kind = "exact" if found.final else "bounded"
    starts = run.group.groups_policy.start_for
    return {group: CHOSEN.get(starts(group), kind) for group, offsets in sorted(found.groups.items()) if offsets}


def elsewhere(run: Run) -> ReadElsewhere | None:
    """Return what groups read outside the protection group, from where their positions are known; ``None`` if unknown.

    What a former version journaled, or saw last, says nothing of it.
    """
    for facts in (run.history.get(run.request.run, {}), run.journal, taken_over(run)):
        if "drained" in facts:
            rows = journaled(facts["drained"])
            return None if rows is None else ReadElsewhere(rows)
    seen = look(run)
    if seen is None or seen.elsewhere is None:
        return None
    return ReadElsewhere(seen.elsewhere, seen.elsewhere_unknown)


def frontier(run: Run) -> KeptFrontier | None:
    """Return up to where the copy was compared by content since the present direction began; ``None`` if never."""
    kept = FileFrontierStore(run.clients.evidence_root, run.group.name).read(f"{run.source}-to-{run.target}")
    return kept if kept is not None and kept.identity[2] == direction(run).epoch else None


def direction(run: Run) -> FlowStart:
    """Return when replication from source to target began, the last time that it did."""
    seeded = [facts for facts in run.history.values() if facts.get("flow_seed", {}).get("source") == run.source]
    newest = max(seeded, key=lambda facts: int(facts["flow_seed"]["epoch"]), default=None)
    if newest is None:
        return FlowStart(0, None)
    claimed = newest.get("claim", {}).get("claimed_at")
    return FlowStart(int(newest["flow_seed"]["epoch"]), datetime.fromisoformat(claimed) if claimed else None)


def loss(run: Run, crossed: Offsets) -> dict[str, Any]:
    """Return what is known of the loss: a lower bound with its time. What came after that time nobody knows.

    :param crossed: next to copy on the source, when the flow was fenced, or now
    """
    seen = look(run)
    if seen is None or not crossed:
        reason = "nobody looked at the source" if seen is None else "what has crossed is not known"
        return {"at_least_records": None, "as_of": None, "reason": reason}
    behind = sum(max(0, end - crossed[p]) for p, end in seen.ends.items() if p in crossed)
    return {
        "at_least_records": seen.certainly_lost(crossed),
        "as_of": seen.at.isoformat(),
        # Control records are among these, and it is no bound: more was written after the look.
        "offsets_behind_then": behind,
        "reason": "seen on the source and not on the target; what was written later is not known",
    }


def taken_over(run: Run) -> Mapping[str, Any]:
    """Return what the run journaled from which this one takes, or took, the group; nothing where it was at rest."""
    mine = run.history.get(run.request.run, {})
    before = mine.get("claim", {}).get("taken_from") or taken_from(run)
    return run.history.get(before, {}) if before else {}


def taken_from(run: Run) -> str:
    """Return the run that holds the group and died with its source; empty where the group is at rest."""
    state = run.register_state
    held = state is not None and state.phase is Phase.SWITCHING and state.run != run.request.run
    return state.run if state is not None and held else ""


def _frozen(facts: Mapping[str, Any]) -> dict[str, Offsets]:
    return dict(groups_from_json(facts["drained"]["group_offsets"]))
