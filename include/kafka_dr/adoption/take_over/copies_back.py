"""What the active cluster holds of the standby, where copies have other names than their originals.

Both flows run in such a group, and a take over replaces the one to the standby alone. The other one is new: nothing may
have been copied to the active cluster, and nobody but this project may copy anything to it.
"""

from __future__ import annotations

from kafka_dr.adoption.adoptable import holding_records
from kafka_dr.checks.authorizers import authorizer_of
from kafka_dr.outcomes import Check
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

_MOST_NAMED = 3


def no_copies_back(run: Run) -> Check:
    """Return whether no copy on the active cluster holds a record."""
    back = run.flow_back
    found = holding_records(run, back)
    said = f"{back.target} holds no record that was copied from {back.source}"
    if found:
        names = sorted(run.group.copies_of({p.topic for p in found}, back.target))
        said = (
            f"{', '.join(first_few(names, _MOST_NAMED))} on {back.target} hold records that other replication has "
            f"copied from {back.source}, and only the one from {run.source} to {run.target} is taken over: stop the "
            f"other one, delete these topics on {back.target}, and trigger a new run. dr_flows then copies them again "
            "from their start, and consumers read them again"
        )
    return Check.that("copies_back_are_empty", not found, said)


def nobody_copies_back(run: Run) -> Check:
    """Return whether nobody may write to these copies but this project, and those that the take over denies."""
    name, back, group = "writers_of_copies_back", run.flow_back, run.group
    topics = [*group.literal_topics, *group.topic_prefixes, *run.topic_names(back.source)]
    copies = {*group.copies_of(topics, back.target)}
    authorizer = authorizer_of(run, back.target, run.read_cache.acls(back.target))
    known = {*group.principals, group.probe_principal, group.replicator_principal, *group.super_users}
    others = sorted(authorizer.writers(copies | run.copies_on(back.target)) - known)
    said = f"only {group.replicator_principal} may write to copies on {back.target}"
    if others:
        said = (
            f"{', '.join(others)} may write to copies of {back.source} on {back.target}, and only replication from "
            f"{run.source} to {run.target} is taken over: if it copies from {back.source}, stop that, and in any case "
            "take these rights away; dr_flows starts this project's flow instead"
        )
    return Check.that(name, not others, said)
