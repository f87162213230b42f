"""What an approval is about: facts that decide, separate from measurements that only inform.

The digest covers the facts alone, as canonical JSON. Measurements change from second to second; whether they are
good enough is a verdict, and verdicts are among the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kafka_dr.counted import counted
from kafka_dr.evidence.canonical import digest
from kafka_dr.group_offsets import group_costs, other_topics
from kafka_dr.named_rows import ID_OF_A_TOPIC, by_name, rows_of
from kafka_dr.outcomes import PASSING, Check
from kafka_dr.runs.request import first_step
from kafka_dr.runs.run import Run

#: How many partitions a topic has, for :func:`~kafka_dr.named_rows.rows_of`.
PARTITIONS = {"named": "topic", "holding": "partitions"}
#: The fact that holds the outcome of each check.
_OUTCOMES = "check_outcomes"
#: A check with such an outcome makes no approval void that was given when it had another one that passes.
_GOOD = ("ok", "warning")
#: In an unplanned failover the source may fail further: what it can no longer be asked is excused.
_GOOD_WITHOUT_SOURCE = (*_GOOD, "excused")
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
        "check_outcomes": {check.name: check.outcome for check in checks},
    }


def of_switch(run: Run, checks: Sequence[Check], *, seen_on: str) -> dict[str, Any]:
    """Return the facts that are common to the verbs which send applications elsewhere.

    :param checks: of the same moment
    :param seen_on: the cluster that is asked which topics and partitions there are
    """
    partitions = Counter(partition.topic for partition in run.partitions(seen_on))
    counted = rows_of(partitions, **PARTITIONS)
    moved = {"partitions": counted, "principals": sorted(run.group.principals)}
    return {**common(run, checks), **moved, **run.request.start_to_json()}


def facts(run: Run, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the decision facts of a planned failover as they are now.

    :param checks: the preflight checks of the same moment
    """
    switch = of_switch(run, checks, seen_on=run.source)
    return {**switch, "offset_classes": group_costs.decided(checks), **other_topics.decided(checks)}


def digest_of(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of decision facts, in hex."""
    return digest(facts)


def _by_name(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: by_name(value, **_ROWS[name]) if name in _ROWS and value is not None else value
        for name, value in facts.items()
    }


def partitions_said(facts: Mapping[str, Any]) -> str:
    """Say how much an approval is about: so many partitions of so many topics."""
    partitions = by_name(facts["partitions"], **PARTITIONS)
    return f"{counted(sum(partitions.values()), 'partition')} of {counted(len(partitions), 'topic')}"


def difference(run: Run, now: Mapping[str, Any]) -> str:
    """Say which of the decision facts differ from those that the verb's first step wrote to the evidence."""
    first = first_step(run.request.verb)
    approved = _first_facts(run)
    if approved is None:
        return f"the evidence of {first} is gone"
    before, now = _by_name(approved), _by_name(now)
    parts = [said for name in sorted({*before, *now}) for said in _differing(name, before.get(name), now.get(name))]
    return "; ".join(parts) or f"not since {first}: the answer carries the digest of something else"


def _differing(name: str, before: Any, now: Any) -> list[str]:
    """Name what differs; of the outcomes of checks only those that do."""
    if name != _OUTCOMES or not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return [] if before == now else [f"{name} was {before}, is {now}"]
    return [said for each in sorted({*before, *now}) for said in _differing(each, before.get(each), now.get(each))]


def _first_facts(run: Run) -> Mapping[str, Any] | None:
    """Return the decision facts that the verb's first step wrote to the evidence; ``None`` if there are none."""
    kept = run.clients.evidence.newest(run.group.name, run.request.run, first_step(run.request.verb).value)
    return None if kept is None else kept.get("facts", {}).get("decision", {})


def _only_better(approved: Mapping[str, Any], now: Mapping[str, Any], good: Collection[str]) -> bool:
    """Return whether facts differ only in checks that are good now, and that the approver let pass."""
    before, found = approved.get(_OUTCOMES, {}), now.get(_OUTCOMES, {})
    rest = [{name: each for name, each in facts.items() if name != _OUTCOMES} for facts in (approved, now)]
    if digest_of(rest[0]) != digest_of(rest[1]) or before.keys() != found.keys():
        return False
    return all(said == before[name] or (said in good and before[name] in PASSING) for name, said in found.items())


def _is_better(run: Run, now: Mapping[str, Any], given: Sequence[str]) -> bool:
    """Return whether the facts of now are those of the one digest that was approved, or better."""
    if len(given) != 1:
        return False
    approved = _first_facts(run)
    good = _GOOD_WITHOUT_SOURCE if run.request.verb == "unplanned_failover" else _GOOD
    # The evidence could be changed by others: it counts only as far as the digest that was approved covers it.
    return approved is not None and given == [digest_of(approved)] and _only_better(approved, now, good)


def unchanged(run: Run, now: Mapping[str, Any], approved: Collection[str]) -> Check:
    """Return whether every approval is about the decision facts that hold now.

    A check that was excused when the approver saw it may be ok now. One that was ok, and is only excused now, was never
    approved, but in an unplanned failover, whose source may have stopped to answer since.

    :param approved: the digests that the answers carry
    """
    found, given = digest_of(now), sorted(set(approved))
    same = given == [found] or _is_better(run, now, given)
    said = "the decision facts are those that were approved"
    if not same:
        said = f"what was approved has changed since ({difference(run, now)}): the approval is superseded; "
        said += "trigger a new run"
    return Check.that("decision_unchanged", same, said, digest=found, approved_digests=given)
