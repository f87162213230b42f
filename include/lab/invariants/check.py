"""The check of all invariants, and the figures."""

from __future__ import annotations

from collections.abc import Sequence

from lab.invariants.completeness import Completeness, check_completeness, loss_seconds
from lab.invariants.group_offsets import check_group_offsets, repeats
from lab.invariants.losses import LossCheck, check_losses
from lab.invariants.model import (
    STATEMENTS,
    ActivePeriod,
    Figures,
    Invariant,
    InvariantReport,
    InvariantResult,
    LostCluster,
    Observation,
)
from lab.invariants.single_writer import check_single_writer, switches


def check_invariants(
    observation: Observation, periods: Sequence[ActivePeriod], *, left: LostCluster | None = None
) -> InvariantReport:
    """Check everything since the first cluster became active; loss and order also of what was there before.

    :param periods: the clusters in the order in which they were meant to be active, the present one last
    :param left: the cluster that a disaster left behind, which is back
    """
    since, active = periods[0].since, periods[-1].cluster
    one_side, both_sides = check_single_writer(observation, periods, left=left)
    complete, no_loop, seen = check_completeness(observation, active=active)
    in_position, skipped = check_group_offsets(observation, since=since)
    changes = switches(observation, periods)
    losses = None if left is None else check_losses(observation, active=active, left=left)
    return InvariantReport(
        findings=(one_side, complete, in_position, *((losses.finding,) if losses else ()), no_loop),
        figures=figures(
            observation, [seen], since=since, both_sides=both_sides, skipped=skipped, losses=losses, left=left
        ),
        switches=changes,
        unknown=tuple(sentence for change in changes for sentence in change.unknown),
    )


def figures(
    observation: Observation,
    seen: Sequence[Completeness],
    *,
    since: float,
    both_sides: int,
    skipped: int,
    losses: LossCheck | None,
    left: LostCluster | None,
) -> Figures:
    """Return the figures of a report.

    :param seen: what is wrong with the logs of each cluster that has to hold all; the worst counts
    """
    again = repeats(observation, since=since)
    return Figures(
        acknowledged=sum(write.at >= since for write in observation.writes),
        lost=max(len(each.lost) for each in seen),
        reordered=max(len(each.reordered) for each in seen),
        duplicated=len(seen[0].duplicated),
        looped=len(seen[0].looped),
        both_sides=both_sides,
        skipped=skipped,
        redelivered=sum(again.redelivered.values()),
        uncommitted_at_freeze=sum(again.uncommitted.values()),
        redelivered_by_group=again.redelivered,
        uncommitted_by_group=again.uncommitted,
        rpo_seconds=max(_rpo(observation, each, losses, left) for each in seen),
        losses=losses.figures if losses else None,
    )


def not_judged(invariant: Invariant, why: str) -> InvariantResult:
    """Say that a kind of run has nothing to say about an invariant, and who has."""
    return InvariantResult(invariant, "not judged", f"{STATEMENTS[invariant]}: not judged here, {why}")


def _rpo(observation: Observation, seen: Completeness, losses: LossCheck | None, left: LostCluster | None) -> float:
    """Of a disaster what it took counts, although it is in the list; what was taken after the switch does not."""
    if losses is None or left is None:
        return loss_seconds(observation, seen.lost)
    return loss_seconds(observation, losses.taken, until=left.since)
