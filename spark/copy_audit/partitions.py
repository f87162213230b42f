"""What the audit of a topic is given for each partition, what it may look up, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from copy_audit.arrivals import Keys, no_keys
from copy_audit.compaction import Living, none_living
from copy_audit.digests import Digests, MinuteSums
from copy_audit.expired import ComparedRange
from copy_audit.fingerprints import NOTHING, Fingerprints, Longs, RecordLog
from copy_audit.unmatched import Ancestors, Ancestry
from kafka_dr.audit.corruption import PayloadOf
from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.difference import Difference, Suspects
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.positions import CountedRange


@dataclass(frozen=True, slots=True, eq=False)
class MatchedByTasks:
    """What tasks found equal in one partition.

    :param blocks: as those of :class:`~copy_audit.matching.AlignedPartition`
    :param minutes: digests of these records on the source and on the target
    """

    blocks: Longs
    minutes: tuple[MinuteSums, MinuteSums]


@dataclass(frozen=True, slots=True, eq=False)
class PartitionLogs:
    """One partition as the fingerprint log holds it, and what was found out when its ranges were resolved.

    :param first: whether nothing of it was compared before
    :param position: next to be read by the flow; ``None`` if it is not known
    :param held_back: whether an open transaction hides the end of the target's log
    :param left_over: below this offset the target has copies of what the source had before its log was truncated
    :param quarantined: offsets of the source that were left out, because they are meant to have no copy
    :param seen_below: records below were on the source longer ago than a record may wait
    :param missing: records of the source that earlier audits reported lost, and that have not come
    :param observed: whether nobody can be asked how far the flow is, ever: all that follows the last copy may still
        come, and is late when it is too old
    :param more_on_source: whether an open transaction hides the end of the source's log, and somebody else copies, so
        that the target may already have copies of what cannot be read there
    :param matched: what tasks have matched; ``None``: the logs have to be aligned, and hold every record
    """

    partition: int
    source: RecordLog
    target: RecordLog
    source_range: ComparedRange
    target_range: ComparedRange
    first: bool = True
    position: int | None = None
    held_back: bool = False
    left_over: int = 0
    quarantined: tuple[tuple[int, int], ...] = ()
    seen_below: int = 0
    missing: Fingerprints = NOTHING
    observed: bool = False
    more_on_source: bool = False
    matched: MatchedByTasks | None = None


@dataclass(frozen=True, slots=True)
class PartitionOutcome:
    """What is known about a partition now.

    :param settled: differences that no later audit looks at again
    :param waiting: differences of what may still be copied, and of what comes after it
    :param settled_coverage: of the source's offsets from the start to ``resume``, and corrections for earlier ones: a
        record that had been lost and came late is verified
    :param waiting_coverage: from ``resume`` to the end
    :param frontier: next to verify on the source and on the target: below, every record was matched in order
    :param resume: where the next audit resumes, on the source and on the target
    :param digests: of what is settled; ``None`` if compaction removes records from one cluster that the other one has
    :param copied: next after the last record of the source that has a copy, and next after what was read of the target:
        above both, nothing is known to correspond; ``None`` if no record was matched
    :param displaced: ranges of records that are in another order, on the source and on the target
    :param second_copies: ranges of the target with records that it holds a second time
    :param late: the first record that waits too long, and next after the last one; ``None`` if there is none
    :param missing: records of the source that are reported lost, by this audit and by earlier ones
    :param came: offsets of the source whose records earlier audits reported lost, and that have come since
    """

    partition: int
    matched: int
    settled: tuple[Difference, ...]
    waiting: tuple[Difference, ...]
    settled_coverage: Coverage
    waiting_coverage: Coverage
    frontier: tuple[int, int]
    resume: tuple[int, int]
    runs: tuple[OffsetRun, ...] = field(repr=False)
    unverified_since: int | None = None
    copied: tuple[int, int] | None = None
    displaced: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()
    second_copies: tuple[CountedRange, ...] = ()
    digests: Digests | None = field(default=None, repr=False)
    late: tuple[int, int] | None = None
    missing: Fingerprints = field(default=NOTHING, repr=False)
    came: tuple[int, ...] = ()

    def in_time(self) -> PartitionOutcome:
        """Return the same for a partition whose late records turned out to be in flight, despite their timestamps."""
        waiting = tuple(
            replace(d, kind=FindingKind.IN_FLIGHT) if d.kind is FindingKind.LATE else d for d in self.waiting
        )
        late = sum(d.count for d in self.waiting if d.kind is FindingKind.LATE)
        covered = self.waiting_coverage
        covered = replace(covered, differing=covered.differing - late, in_flight=covered.in_flight + late)
        return replace(self, waiting=waiting, waiting_coverage=covered, late=None)


@dataclass(frozen=True, slots=True)
class AuditLookups:
    """What the audit of a topic has to look up.

    :param payloads: reads the payloads of suspects, and returns how to look them up on the source and on the target
    :param ancestors: finds records by hash in what earlier audits kept; each hash is asked for once
    :param living: returns which keys a cluster may still have a value of, from before what is compared now
    :param keys: returns the keys of records of the source
    :param compared: finds records in what is compared now; ``None``: the logs hold every record
    """

    payloads: Callable[[Sequence[Suspects]], tuple[PayloadOf, PayloadOf]]
    ancestors: Callable[[Longs], Ancestry]
    living: Living = none_living
    keys: Keys = no_keys
    compared: Ancestors | None = None
