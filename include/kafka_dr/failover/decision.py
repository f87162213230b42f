"""What an approval is about: facts that decide, apart from measurements that only inform.

The digest covers the facts alone, as canonical JSON. Measurements change from second to second; whether they are
good enough is a verdict, and verdicts are among the facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.evidence import digest
from kafka_dr.failover.record import Check
from kafka_dr.failover.request import first_step
from kafka_dr.failover.run import Run


def facts(run: Run, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the decision facts as they are now.

    :param checks: the preflight checks of the same moment
    """
    topology = run.world.topology
    classes = next((dict(c.facts["classes"]) for c in checks if "classes" in c.facts), {})
    partitions = run.partitions(run.source)
    return {
        "protection_group": run.group.name,
        "verb": run.request.verb,
        "source": run.source,
        "target": run.target,
        "epoch": run.epoch,
        "cluster_ids": {name: topology.cluster(name).cluster_id for name in (run.source, run.target)},
        "partitions": {p.topic: sum(1 for other in partitions if other.topic == p.topic) for p in partitions},
        "principals": sorted(run.group.principals),
        "offset_classes": classes,
        "checks": {check.name: check.outcome for check in checks},
    }


def digest_of(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of decision facts, in hex."""
    return digest(facts)


def difference(run: Run, now: Mapping[str, Any]) -> str:
    """Say which of the decision facts differ from those that the verb's first step wrote to the evidence."""
    first = first_step(run.request.verb)
    kept = run.world.evidence.newest(run.group.name, run.request.run, first.value)
    before = (kept or {}).get("facts", {}).get("decision", {})
    parts = [
        f"{name} was {before.get(name)}, is {now.get(name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if kept is None:
        return f"the evidence of {first} is gone"
    return "; ".join(parts) or f"not since {first}: the answer carries the digest of something else"
