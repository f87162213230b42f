"""What is known of the source without asking it: its groups, its log ends, and what was certainly copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_dr.audit.kept_frontier import FileFrontierStore, KeptFrontier
from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets import last_look, local_groups
from kafka_dr.group_offsets.last_look import LastLook
from kafka_dr.group_offsets.other_topics import ReadElsewhere, journaled
from kafka_dr.named_rows import groups_from_json
from kafka_dr.offsets.translate.answers import Kind
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase
from kafka_dr.register.flow_seed import all_seeds
from kafka_dr.runs.run import Run

Offsets = Mapping[TopicPartition, int]
#: How many partitions a sentence names.
_SHOWN = 3
#: Where a group may begin by its owners' choice if only the target can be asked, and how sure its offset is then.
CHOSEN: Mapping[str, Kind] = {"earliest": "bounded", "latest": "declared", "at_time": "declared"}


@dataclass(frozen=True, slots=True)
class KnownOffsets:
    """Committed offsets of groups on the source.

    :param groups: offsets, next to read, by group and partition
    :param final: no group can have committed later, as the groups were frozen
    :param at: when the offsets were read, if they are not final; ``None`` if unknown
    :param ends: where the source ended then, by partition; empty if unknown
    """

    groups: Mapping[str, Offsets]
    final: bool
    at: datetime | None = None
    ends: Offsets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowStart:
    """When replication from source to target began.

    :param epoch: of the flow's seed; 0 if replication never ran in the other direction
    :param since: when the run claimed the group that started the flow; ``None`` if unknown
    """

    epoch: int
    since: datetime | None


def look(run: Run) -> LastLook | None:
    """Return the last look at the source since the flow began; an earlier one is about other logs."""
    seen = last_look.kept(run, source=run.source, target=run.target)
    return seen if seen is not None and seen.epoch >= flow_start(run).epoch else None


def positions(run: Run) -> KnownOffsets:
    """Return the groups' committed offsets: as they were frozen, or as they were seen last."""
    mine, before = run.history.get(run.request.run, {}), taken_over(run)
    if "drained" in mine:
        return KnownOffsets(_frozen(mine), final=True)
    if "drained" in before:
        # That run may have been rolled back on the source, unseen, and its groups may have read on.
        claimed_at = datetime.fromisoformat(before["claim"]["claimed_at"])
        rests = _rests(run, look(run)) if local_groups.rest_groups(run) else {}
        return KnownOffsets({**_frozen(before), **rests}, final=False, at=claimed_at)
    if (seen := look(run)) is None:
        return KnownOffsets({}, final=False)
    return KnownOffsets({**seen.groups, **_rests(run, seen)}, final=False, at=seen.at, ends=seen.ends)


def local_groups_left(run: Run) -> Check:
    """Say what groups that read on the source alone had left there, and who reads it on the target."""
    seen = look(run)
    return local_groups.lost_with_source(run, seen.local if seen else {}, seen.ends if seen else {})


def classes(run: Run) -> dict[str, Kind]:
    """Return how sure each group's offset will be, by group: exact only if the groups were frozen.

    If somebody chose to begin at the end or at a time, unread records may be skipped: the offset is ``declared``.
    """
    found = positions(run)
    kind: Kind = "exact" if found.final else "bounded"
    starts = run.group.groups_policy.start_for
    return {group: CHOSEN.get(starts(group), kind) for group, offsets in sorted(found.groups.items()) if offsets}


def elsewhere(run: Run) -> ReadElsewhere | None:
    """Return what the groups read outside the protection group; ``None`` if unknown.

    It comes from the same source as their offsets.
    """
    for facts in (run.history.get(run.request.run, {}), run.journal, taken_over(run)):
        if "drained" in facts:
            return ReadElsewhere(journaled(facts["drained"]))
    seen = look(run)
    if seen is None or seen.elsewhere is None:
        return None
    return ReadElsewhere(seen.elsewhere, seen.elsewhere_unknown)


def frontier(run: Run, standby: str = "") -> KeptFrontier | None:
    """Return the offsets up to which a copy was compared by content since the flow began; ``None`` if never.

    :param standby: which one; empty: that of the target
    """
    kept = FileFrontierStore(run.evidence_root, run.group.name).read(f"{run.source}-to-{standby or run.target}")
    return kept if kept is not None and kept.identity[2] == flow_start(run, standby).epoch else None


def flow_start(run: Run, standby: str = "") -> FlowStart:
    """Return when replication from the source to a standby began last.

    :param standby: which one; empty: the target
    """
    seeds = {
        name: seed
        for name, facts in run.history.items()
        for seed in all_seeds({name: facts})
        if (seed.source, seed.target) == (run.source, standby or run.target)
    }
    if not seeds:
        return FlowStart(0, None)
    began = max(seeds, key=lambda name: seeds[name].epoch)
    claimed = run.history[began].get("claim", {}).get("claimed_at")
    return FlowStart(seeds[began].epoch, datetime.fromisoformat(claimed) if claimed else None)


def loss(run: Run, copied: Offsets) -> dict[str, Any]:
    """Return what is known of the loss: a lower bound and its time. The loss after that time is unknown.

    :param copied: next source offset to copy, by partition, when the flow was fenced, or now
    """
    seen = look(run)
    if seen is None or not copied:
        looked = f"it is unknown what was copied to {run.target}"
        reason = f"{run.source} was never looked at while it was up" if seen is None else looked
        return {"at_least_records": None, "as_of": None, "reason": reason}
    least, unknown = seen.certainly_lost(copied), _not_counted(seen, copied)
    if unknown and not least:
        return {"at_least_records": None, "as_of": None, "reason": unknown}
    uncopied = sum(max(0, end - copied[p]) for p, end in seen.ends.items() if p in copied)
    said = f"these were seen on {run.source} and are not on {run.target}; what was written later is unknown"
    if held := seen.held_in_words(copied):
        said = f"{said}; when {run.source} was seen last, {held}"
    return {
        "at_least_records": least,
        "as_of": seen.at.isoformat(),
        # Control records are among these. It is no upper bound: more may have been written after the look.
        "offsets_behind_then": uncopied,
        "reason": f"{said}, and {unknown}" if unknown else said,
        **({"not_counted": unknown} if unknown else {}),
        **({"held_back": held} if held else {}),
        "usual_per_second": seen.usual_per_second,
        "copy_lag_seconds": seen.copy_lag_seconds,
    }


def _not_counted(seen: LastLook, copied: Offsets) -> str:
    """Say of which partitions not every record was counted; empty if of none."""
    found = sorted(seen.not_known_of(copied))
    if not found:
        return ""
    shown = f"{', '.join(map(str, found[:_SHOWN]))}{' …' if len(found) > _SHOWN else ''}"
    return (
        f"of {len(found)} of {len(seen.ends)} partitions ({shown}) the last look at {seen.at:%Y-%m-%d %H:%M:%S} UTC "
        "could not count what was not copied"
    )


def taken_over(run: Run) -> Mapping[str, Any]:
    """Return what the run journaled from which this run takes, or took, the group; empty if no run held it."""
    mine = run.history.get(run.request.run, {})
    before = mine.get("claim", {}).get("taken_from") or taken_from(run)
    return run.history.get(before, {}) if before else {}


def taken_from(run: Run) -> str:
    """Return the run that holds the group and died with its source; empty if no run holds it."""
    state = run.register_state
    held = state is not None and state.phase is Phase.SWITCHING and state.run != run.request.run
    return state.run if state is not None and held else ""


def _rests(run: Run, seen: LastLook | None) -> Mapping[str, Offsets]:
    """Return where the groups begin that read on the target what others have left on the source."""
    return local_groups.rests_of(run, seen.local, seen.ends) if seen else {}


def _frozen(facts: Mapping[str, Any]) -> dict[str, Offsets]:
    return dict(groups_from_json(facts["drained"]["group_offsets"]))
