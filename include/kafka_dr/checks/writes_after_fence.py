"""Records on the old cluster after its drained ends: written by a principal that the fence does not stop.

At the drained ends the copy was proven to be equal. Between the hand-over and the reverse flow nothing is copied to the
old cluster, so every record after its drained ends was written there, and is on no other cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import StoredDocument, stored
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.named_rows import positions_from_json
from kafka_dr.outcomes import Check
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.runs.run import Run


@dataclass(frozen=True, slots=True)
class WritesAfterFence(StoredDocument):
    """What was written after the drained ends.

    :param ends: the high watermark of each partition that has changed; ``None`` if the old cluster did not answer
    :param detail: what was seen and, if records were written, what to do
    """

    ends: Mapping[TopicPartition, int] | None = field(metadata=stored("past_the_fence"))
    detail: str = field(metadata=stored("past_the_fence_detail"))

    @property
    def nothing(self) -> bool:
        """Whether it is known that no record was written after the drained ends."""
        return self.ends is not None and not self.ends


def find_writes_after_fence(run: Run) -> WritesAfterFence:
    """Compare the old cluster's high watermarks with the drained ends, or return what an earlier comparison found."""
    if FLOW_SEED in run.journal:
        # The reverse flow may have begun: its records cannot be distinguished from those that somebody wrote.
        return WritesAfterFence.from_part(run.fact("verified"))
    if not run.declared.closes(run.source):
        return WritesAfterFence({}, run.stays_open(run.source))
    drained = positions_from_json(run.fact("drained")["source_ends"])
    try:
        # A topic that was created a moment ago counts, too.
        now = run.operator(run.source).topics.high_watermarks({*drained, *run.partitions(run.source)})
    except KafkaDrError as error:
        return WritesAfterFence(
            None, f"it is not known whether records were written on {run.source} after its drain: {error}"
        )
    longer = {p: end for p, end in now.items() if end != drained.get(p, 0)}
    if not longer:
        return WritesAfterFence(
            {}, f"the high watermarks of {counted(len(now), 'partition')} on {run.source} are those of the drain"
        )
    shown = ", ".join(f"{p} ({drained.get(p, 0)} to {end})" for p, end in sorted(longer.items())[:5])
    detail = (
        f"{shown}: records were written on {run.source} after it was fenced, and they are not on {run.target}. A "
        "principal that the fence does not stop wrote them, perhaps a super user: find out which one, and keep these "
        "records"
    )
    return WritesAfterFence(longer, detail)


def old_cluster_is_still(run: Run) -> Check:
    """Return whether the old cluster's high watermarks are still those that this step saw when it acted."""
    name = "old_cluster_is_still"
    before = WritesAfterFence.from_part(
        run.clients.register(run.target).facts(run.group.name, run.request.run)["verified"]
    )
    now = find_writes_after_fence(run)
    if now.ends is None:
        # As for its refusal: a datacenter that dies now accepts no writes either.
        return Check(name, "excused", now.detail)
    if before.ends is not None and now.ends != before.ends:
        said = f"{run.source} still accepts writes: {now.detail}. Stop the writer, and run the step again"
        return Check(name, "failed", said)
    return Check(name, "ok", now.detail)
