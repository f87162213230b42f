"""How long a failover waits for access rules that others apply: each change adds that to the write outage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.runs.run import Run


@dataclass(frozen=True, slots=True)
class RuleWait:
    """The changes on one cluster while writes are refused.

    :param where: where its rules are kept
    :param changes: how many changes are waited for, one after the other
    :param took_seconds: how long the newest change took; ``None`` if none was measured
    :param at_most_seconds: how long one may take
    """

    cluster: str
    where: str
    changes: int
    took_seconds: float | None
    at_most_seconds: float

    def __str__(self) -> str:
        took = f"the last one took {self.took_seconds:.1f} s" if self.took_seconds else "none was measured yet"
        return (
            f"{counted(self.changes, 'change waits', 'changes wait')} until the brokers of {self.cluster} have "
            f"what is written to {self.where} "
            f"({took}, {duration(self.at_most_seconds)} at most)"
        )


def rule_waits(run: Run) -> tuple[RuleWait, ...]:
    """Return what a planned failover waits for on each cluster whose rules are kept elsewhere."""
    ids = bool(run.group.transactional_ids or run.group.transactional_id_prefixes)
    # Source: fence, transactional ids, freeze. Target: the replicator's fence, then the applications are let in.
    changes = {run.source: 3 if ids else 2, run.target: 2}
    return tuple(
        RuleWait(name, spec.where, changes[name], _took(run, name), spec.applied_within_seconds)
        for name in (run.source, run.target)
        if not (spec := run.clients.topology.cluster(name).access_rules).is_direct
    )


def _took(run: Run, cluster: str) -> float | None:
    try:
        return run.clients.register(cluster).added_acls(run.group.name, cluster).lasting.took_seconds
    except KafkaDrError:
        return None


def sentence(waits: Sequence[RuleWait]) -> str:
    """Say what is waited for, and how long that takes at least, as far as it is known; empty if nothing is."""
    if not waits:
        return ""
    known = [each.changes * each.took_seconds for each in waits if each.took_seconds is not None]
    least = f": about {sum(known):.1f} s of the outage" if len(known) == len(waits) else ""
    return f"Access rules are kept elsewhere{least}: " + "; ".join(map(str, waits))
