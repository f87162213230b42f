"""What groups that read on each member what is written there alone have left on a member that is going to be left.

They are not moved, and read nothing of that member elsewhere: what they have left there, they read there.
"""

from __future__ import annotations

from kafka_dr.counted import counted
from kafka_dr.outcomes import Check
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

NAME = "local_groups_left"
_MOST_NAMED = 3


def local_groups_left(run: Run) -> Check:
    """Say before a planned failover how many records these groups have left, at most."""
    member_of = run.declared.member_of
    groups = member_of.local if member_of is not None and run.declared.closes(run.source) else ()
    source = run.operator(run.source)
    committed = source.groups.offsets(groups, require_stable=False) if groups else {}
    owned = {p for offsets in committed.values() for p in offsets if run.group.owns_topic(p.topic)}
    ends = source.topics.high_watermarks(owned)
    left = {
        group: sum(max(0, ends[p] - offset) for p, offset in offsets.items() if p in ends)
        for group, offsets in sorted(committed.items())
    }
    if said := [f"{group} at most {counted(many, 'record')}" for group, many in left.items() if many]:
        return Check(
            NAME,
            "warning",
            f"to read on {run.source} have {', '.join(first_few(said, _MOST_NAMED))}: they stay readable there and "
            "nowhere else, so let these groups run there until they have read them",
        )
    return Check(NAME, "ok", f"no group that reads on {run.source} alone has records left there")
