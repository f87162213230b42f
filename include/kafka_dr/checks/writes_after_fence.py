"""Records on the old side that came after everything was brought across: by somebody whom no fence stops.

The drained ends are where the copy was proven to be equal. Between the hand-over and the flow back nothing is copied to
the old side, so whatever lies past them there was written there, and is nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.runs.offset_rows import positions_from_json, positions_to_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


@dataclass(frozen=True, slots=True)
class WritesAfterFence:
    """What lies past the drained ends.

    :param ends: the end of each log that is longer than it was; ``None`` where the old side did not answer
    :param detail: one sentence
    """

    ends: Mapping[TopicPartition, int] | None
    detail: str

    @property
    def nothing(self) -> bool:
        """Whether it is known that everything was brought across."""
        return self.ends is not None and not self.ends

    def to_json(self) -> dict[str, Any]:
        """Return what is journaled."""
        ends = None if self.ends is None else positions_to_json(self.ends)
        return {"past_the_fence": ends, "past_the_fence_detail": self.detail}

    @classmethod
    def from_json(cls, fact: Mapping[str, Any]) -> WritesAfterFence:
        """Read what :meth:`to_json` returned."""
        ends = fact["past_the_fence"]
        return cls(None if ends is None else positions_from_json(ends), fact["past_the_fence_detail"])


def look(run: Run) -> WritesAfterFence:
    """Compare the old side's logs with where they were drained, or return what was seen while that could be told."""
    if "flow_seed" in run.journal:
        # The flow back may have begun: what it brings is no longer told from what somebody wrote there.
        return WritesAfterFence.from_json(run.fact("verified"))
    drained = positions_from_json(run.fact("drained")["source_ends"])
    try:
        # A topic that is a moment old counts, too.
        now = run.operator(run.source).topics.high_watermarks({*drained, *run.partitions(run.source)})
    except KafkaDrError as error:
        return WritesAfterFence(None, f"{run.source} does not tell whether records came after the drain: {error}")
    longer = {p: end for p, end in now.items() if end != drained.get(p, 0)}
    if not longer:
        return WritesAfterFence({}, f"the ends of {len(now)} partitions on {run.source} stand where they were drained")
    shown = ", ".join(f"{p} ({drained.get(p, 0)} to {end})" for p, end in sorted(longer.items())[:5])
    detail = (
        f"{shown} on {run.source} moved behind the fence, and what came there is not on {run.target}: somebody passes "
        "the fence, a super user perhaps; find out who, and keep these records"
    )
    return WritesAfterFence(longer, detail)


def old_side_is_still(run: Run) -> Check:
    """Return whether the old side's logs stand where this step saw them when it acted."""
    name = "old_side_is_still"
    before = WritesAfterFence.from_json(
        run.clients.register(run.target).facts(run.group.name, run.request.run)["verified"]
    )
    now = look(run)
    if now.ends is None:
        # As for its refusal: a datacenter that dies now takes no writes either.
        return Check(name, "excused", now.detail)
    if before.ends is not None and now.ends != before.ends:
        return Check(name, "failed", f"somebody still writes there: {now.detail}. Stop that, and run the step again")
    return Check(name, "ok", now.detail)
