"""What an approval is about: facts that decide, separate from measurements that only inform.

The digest covers the facts alone, as canonical JSON. Measurements change from second to second; whether they are
good enough is a verdict, and verdicts are among the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kafka_dr.evidence import digest
from kafka_dr.group_offsets import group_costs, other_topics
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, rows_of
from kafka_dr.outcomes import Check
from kafka_dr.runs.request import first_step
from kafka_dr.runs.run import Run

#: How many partitions a topic has, for :func:`~kafka_dr.named_rows.rows_of`.
PARTITIONS = {"named": "topic", "holding": "partitions"}
_ID_OF_A_CLUSTER = {"named": "cluster", "holding": "cluster_id"}
_ROWS: Mapping[str, Mapping[str, str]] = {
    "cluster_ids": _ID_OF_A_CLUSTER,
    "partitions": PARTITIONS,
    "offset_classes": group_costs.CLASSES,
    "deletes": ID_OF_A_TOPIC,
}


def common(run: Run, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the facts that a decision about any verb rests on: what moves from where to where, and the verdicts.

    :param checks: of the same moment
    """
    topology, sides = run.clients.topology, (run.source, run.target)
    return {
        "protection_group": run.group.name,
        "verb": run.request.verb,
        "source": run.source,
        "target": run.target,
        "epoch": run.epoch,
        "cluster_ids": rows_of({name: topology.cluster(name).cluster_id for name in sides}, **_ID_OF_A_CLUSTER),
        # What policy excuses now may be good by the time of the claim: that makes no approval void.
        "checks": {check.name: "ok" if check.passes else check.outcome for check in checks},
    }


def of_switch(run: Run, checks: Sequence[Check], *, seen_on: str) -> dict[str, Any]:
    """Return the facts that are common to the verbs which send applications elsewhere.

    :param checks: of the same moment
    :param seen_on: the cluster that is asked which topics and partitions there are
    """
    partitions = Counter(partition.topic for partition in run.partitions(seen_on))
    counted = rows_of(partitions, **PARTITIONS)
    return {**common(run, checks), "partitions": counted, "principals": sorted(run.group.principals)}


def facts(run: Run, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the decision facts of a planned failover as they are now.

    :param checks: the preflight checks of the same moment
    """
    switch = of_switch(run, checks, seen_on=run.source)
    return {**switch, "offset_classes": group_costs.decided(checks), **other_topics.decided(checks)}


def digest_of(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of decision facts, in hex."""
    return digest(facts)


def in_former_shape(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return decision facts as former versions wrote them: mappings by name, where there are rows now.

    Who approved such facts approved the same. Facts that have that shape already stay as they are.
    """
    return {
        name: by_name(value, **_ROWS[name]) if name in _ROWS and value is not None else value
        for name, value in facts.items()
    }


def partitions_said(facts: Mapping[str, Any]) -> str:
    """Say how much an approval is about: so many partitions of so many topics."""
    partitions = by_name(facts["partitions"], **PARTITIONS)
    return f"{sum(partitions.values())} partitions of {len(partitions)} topics"


def difference(run: Run, now: Mapping[str, Any]) -> str:
    """Say which of the decision facts differ from those that the verb's first step wrote to the evidence."""
    first = first_step(run.request.verb)
    kept = run.clients.evidence.newest(run.group.name, run.request.run, first.value)
    before, now = in_former_shape((kept or {}).get("facts", {}).get("decision", {})), in_former_shape(now)
    parts = [
        f"{name} was {before.get(name)}, is {now.get(name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if kept is None:
        return f"the evidence of {first} is gone"
    return "; ".join(parts) or f"not since {first}: the answer carries the digest of something else"


def unchanged(run: Run, now: Mapping[str, Any], approved: Collection[str]) -> Check:
    """Return whether every approval is about the decision facts that hold now.

    :param approved: the digests that the answers carry
    """
    found, given = digest_of(now), sorted(set(approved))
    same = given in ([found], [digest_of(in_former_shape(now))])
    said = "the decision facts are those that were approved"
    if not same:
        said = f"what was approved has changed since ({difference(run, now)}): the approval is superseded; "
        said += "trigger a new run"
    return Check.that("decision_unchanged", same, said, digest=found, approved_digests=given)
