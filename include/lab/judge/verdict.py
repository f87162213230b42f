"""The verdict: every rule asked, every figure counted."""

from __future__ import annotations

from collections.abc import Sequence

from lab.judge.completeness import judge_completeness, loss_seconds
from lab.judge.model import Figures, Observation, Tenure, Verdict
from lab.judge.positions import judge_positions, repeats
from lab.judge.sides import judge_sides, switches


def judge(observation: Observation, tenures: Sequence[Tenure]) -> Verdict:
    """Judge everything that happened since the first tenure began; loss and order also of what was there before.

    :param tenures: the clusters in the order in which they were meant to be active, the present one last
    """
    since, active = tenures[0].since, tenures[-1].cluster
    one_side, both_sides = judge_sides(observation, tenures)
    complete, no_loop, seen = judge_completeness(observation, active=active)
    in_position, skipped = judge_positions(observation, since=since)
    again = repeats(observation, since=since)
    changes = switches(observation, tenures)
    return Verdict(
        findings=(one_side, complete, in_position, no_loop),
        figures=Figures(
            acknowledged=sum(write.at >= since for write in observation.writes),
            lost=len(seen.lost),
            reordered=len(seen.reordered),
            duplicated=len(seen.duplicated),
            looped=len(seen.looped),
            both_sides=both_sides,
            skipped=skipped,
            redelivered=sum(again.redelivered.values()),
            uncommitted_at_freeze=sum(again.uncommitted.values()),
            redelivered_by_group=again.redelivered,
            uncommitted_by_group=again.uncommitted,
            rpo_seconds=loss_seconds(observation, seen.lost),
        ),
        switches=changes,
        unknown=tuple(sentence for change in changes for sentence in change.unknown),
    )
