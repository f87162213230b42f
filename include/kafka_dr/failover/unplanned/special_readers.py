"""What is left to do after an unplanned failover for readers that need more than a moved offset, as they were seen."""

from __future__ import annotations

from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned import last_known, translate_without_source
from kafka_dr.failover.unplanned.last_known import KnownOffsets
from kafka_dr.failover.unplanned.reachable_source import SourceState
from kafka_dr.group_offsets import left_to_do
from kafka_dr.group_offsets.last_look import LastLook
from kafka_dr.group_offsets.streams_applications import judge
from kafka_dr.group_offsets.unmovable_groups import ShareGroup, SpecialReaders
from kafka_dr.rescue.copy_reached import UNVERIFIED, CopyReached
from kafka_dr.runs.run import Run


def rows(run: Run) -> list[dict[str, Any]]:
    """Return what is left to do: a row for each command. Nobody waits for it; what is not known is said."""
    if SourceState.of(run.journal).drained and "drained" in run.journal:
        return left_to_do.after(run, run.fact("drained"))
    try:
        seen = last_known.look(run)
        if seen is None:
            said = f"{run.source} was never looked at while it was up, so nothing is known of other readers"
            return [{"reader": "", "to_do": said, "command": ""}]
        return _as_seen(run, seen)
    except KafkaDrError as error:
        return [{"reader": "", "to_do": f"whether something is left to do is not known: {error}", "command": ""}]


def _as_seen(run: Run, seen: LastLook) -> list[dict[str, Any]]:
    at = f"as seen at {seen.at:%Y-%m-%d %H:%M:%S} UTC"
    policy = run.group.groups_policy
    readers = SpecialReaders(
        share=tuple(ShareGroup(name, at, name not in policy.not_moved, run.target) for name in seen.share_starts),
        streams=tuple(judge(each, run, target=run.target) for each in seen.streams),
        outside=tuple(sorted(policy.external_offsets)),
    )
    if not seen.share_starts:
        return left_to_do.rows(run, readers, ())
    reached = CopyReached.from_json(run.fact(UNVERIFIED))
    known = KnownOffsets(seen.share_starts, final=False, at=seen.at)
    return left_to_do.rows(run, readers, translate_without_source.translate(run, reached, known))
