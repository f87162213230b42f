"""The audit of one topic, from its fingerprints: what differs, what is covered, how far it is verified.

Everything up to the offset at which the next audit resumes is settled: no later audit looks at it again. The records of
the target are settled at once, because its end was read before the source's. Records of the source that may still be
copied are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from copy_audit.classify import classify
from copy_audit.fingerprints import Longs
from copy_audit.in_flight import NEVER_LATE
from copy_audit.matching import find_ancestors
from copy_audit.partition_audit import PartitionAudit
from copy_audit.partitions import AuditLookups, PartitionLogs, PartitionOutcome
from copy_audit.unmatched import Ancestry
from kafka_dr.audit.corruption import judge


def audit_topic(
    partitions: Sequence[PartitionLogs],
    *,
    compacted: bool,
    young_from: int,
    lookups: AuditLookups,
    late_before: int = NEVER_LATE,
) -> list[PartitionOutcome]:
    """Compare all partitions of a topic.

    :param compacted: whether either cluster compacts the topic
    :param young_from: milliseconds since the epoch; younger records may still be in flight
    :param late_before: milliseconds since the epoch; an older record that the flow has not read waits too long
    """
    audits = [
        PartitionAudit(logs, compacted=compacted, young_from=young_from, late_before=late_before) for logs in partitions
    ]
    _take_arrivals(audits)
    for audit in audits:
        audit.excuse(lookups.living)
    compared = lookups.compared or partial(find_ancestors, [audit.comparison for audit in audits])

    def ancestors(partitions: Longs, hashes: Longs) -> Ancestry:
        found = compared(partitions, hashes)
        left = found.missing
        if len(left):
            unknown, number = np.unique(hashes[left], return_inverse=True)
            earlier = lookups.ancestors(unknown)
            found.put(left, earlier.partitions[number], earlier.offsets[number])
        return found

    rules = {audit.logs.partition: audit.circumstances.rules for audit in audits}
    classified = classify(
        [audit.missing for audit in audits],
        [audit.foreign for audit in audits],
        ancestors=ancestors,
        rules=rules,
    )
    differences = list(classified.differences)
    if classified.suspects:
        source, target = lookups.payloads(classified.suspects)
        for suspects in classified.suspects:
            differences += judge(suspects, source=source, target=target, rules=rules)
    for audit in audits:
        differences = audit.without_changed_arrivals(differences, lookups)
    arrivals = [d for audit in audits for d in audit.arrivals.differences(lookups.keys)]
    return [
        audit.outcome(
            [d for d in differences if d.partition == audit.logs.partition],
            [d for d in arrivals if d.partition == audit.logs.partition],
        )
        for audit in audits
    ]


def _take_arrivals(audits: Sequence[PartitionAudit]) -> None:
    """Look for missing records among the unmatched ones of the target, in their own partition first."""
    for audit in audits:
        audit.take_arrivals(audit)
    for audit in audits:
        for other in (each for each in audits if each is not audit):
            audit.take_arrivals(other)
