"""What the check of the invariants reads and reports. Offsets of groups are *next to read*; times are seconds.

A record is known by the application that wrote it and by a sequence number that rises in the order of writing and is
never given to another record. So loss, order, copies and what a group has seen can all be said about numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Invariant = Literal["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10"]
#: ``not judged``: this kind of run has nothing to say about it, whatever happens in it.
Outcome = Literal["held", "violated", "unknown", "not judged"]

STATEMENTS: Mapping[Invariant, str] = {
    "I1": "no two clusters accept application writes at a time",
    "I2": "no acknowledged record is lost, none is reordered within its partition",
    "I3": "no group's position is ever past a record that the group has not seen",
    "I4": "what a disaster took is the list of stranded records, record for record",
    "I5": "unknown never counts as good",
    "I6": "every step can be interrupted anywhere and run again",
    "I7": "no application data is deleted without two different people having said so",
    "I8": "no password is in a file that is not made for it",
    "I9": "no audit says equal about a record that is not on both clusters",
    "I10": "replication never loops",
}


@dataclass(frozen=True, slots=True, order=True)
class RecordId:
    """A record, wherever it is stored and however often."""

    application: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.application}#{self.sequence}"


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """A partition, which is called the same here on every cluster.

    :param origin: the cluster whose applications write it, where each one writes a log of its own; else empty
    """

    topic: str
    number: int
    origin: str = ""

    @property
    def of_any(self) -> Partition:
        """The partition as applications know it, which write it on whichever cluster is active."""
        return replace(self, origin="")

    def __str__(self) -> str:
        return f"{self.origin}.{self.topic}-{self.number}" if self.origin else f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True)
class Write:
    """A record that a cluster took: acknowledged, or part of a transaction whose commit was acknowledged.

    :param at: when the application learned it
    """

    record: RecordId
    partition: Partition
    offset: int
    cluster: str
    at: float


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record as it is in a cluster's log.

    :param record: ``None`` for a record that no application of the lab wrote
    :param intact: key, value and time are the ones it was written with
    :param rescued: whether it was published again from the list of stranded records, and says so
    """

    offset: int
    record: RecordId | None
    intact: bool = True
    rescued: bool = False


Logs = Mapping[Partition, Sequence[LogRecord]]


@dataclass(frozen=True, slots=True)
class StrandedRecord:
    """One record of the list of records that were never replicated, as it is kept there.

    :param record: ``None`` for a record that no application of the lab wrote
    :param intact: key, value and time are the ones it was written with
    """

    partition: Partition
    offset: int
    record: RecordId | None
    intact: bool = True


@dataclass(frozen=True, slots=True)
class LateRecords:
    """What both clusters held before the records that only a lost one held were let in, into copies of other names.

    :param cluster: where they arrive
    :param there: what it held before the lost one could be reached again
    :param origin: what the lost one held when it was fenced
    """

    cluster: str
    there: Logs
    origin: Logs


@dataclass(frozen=True, slots=True)
class LostCluster:
    """The old cluster after a disaster: it had no fence, and it came back.

    :param since: when the other cluster was allowed to open
    :param reachable: when it could be reached again
    :param fenced: when it was proven to refuse writes
    :param within: how many seconds its fence may take from when it could be reached
    :param predicted_loss: how many records the approval said would be lost at least; ``None`` if it said nothing
    :param late: what was there before its own records were let in; ``None`` if none are
    """

    cluster: str
    since: float
    reachable: float
    fenced: float
    within: float
    predicted_loss: int | None = None
    late: LateRecords | None = None


@dataclass(frozen=True, slots=True)
class FormerLogs:
    """A cluster's logs as they were before they were created again.

    :param until: what was said before this moment was said about these
    """

    cluster: str
    until: float
    logs: Logs


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record that a group processed."""

    group: str
    record: RecordId
    partition: Partition
    offset: int
    cluster: str
    at: float


@dataclass(frozen=True, slots=True)
class Commit:
    """A position that a cluster stored for a group, whoever committed it; from the cluster's own history."""

    group: str
    partition: Partition
    offset: int
    cluster: str
    at: float


@dataclass(frozen=True, slots=True)
class ActivePeriod:
    """A cluster was meant to be the active one, at the earliest from ``since`` on: the moment of the approval."""

    cluster: str
    since: float


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that was seen.

    :param writes: what applications know to be written
    :param attempts: for each record, how often it was sent without learning the outcome; each may have written it once
    :param void: records that must not be visible: refused, or of an aborted transaction
    :param undecided: transactions whose outcome was not learned; each must be visible whole or not at all
    :param deliveries: what the groups processed
    :param commits: every position stored for a group, on any cluster
    :param logs: cluster → partition → its visible records in the order of the log; ranges in quarantine left out
    :param groups: groups that are expected to work after the switch
    :param stranded: the list of records that were never replicated
    :param earlier: logs that are no more
    """

    writes: Sequence[Write]
    deliveries: Sequence[Delivery]
    commits: Sequence[Commit]
    logs: Mapping[str, Logs]
    groups: Sequence[str] = ()
    attempts: Mapping[RecordId, int] = field(default_factory=dict)
    void: frozenset[RecordId] = frozenset()
    undecided: Sequence[frozenset[RecordId]] = ()
    stranded: Sequence[StrandedRecord] = ()
    earlier: Sequence[FormerLogs] = ()

    def generation(self, cluster: str, at: float) -> str:
        """Name the logs that a word about a cluster's offsets was about, when it was said at this moment."""
        before = [each.until for each in self.earlier if each.cluster == cluster and at < each.until]
        return f"{cluster} before {min(before)}" if before else cluster

    def generations(self) -> dict[str, Logs]:
        """Return all logs there were, by the names that :meth:`generation` gives."""
        return {**self.logs, **{f"{each.cluster} before {each.until}": each.logs for each in self.earlier}}


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """What one rule says about one invariant.

    :param examples: the first few cases, for a person
    """

    invariant: Invariant
    outcome: Outcome
    sentence: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Switch:
    """One change of the active cluster, as the applications lived through it.

    :param since: when it was approved
    :param write_outage_seconds: last acknowledged before → first after, the longest over all partitions
    :param restored_seconds: from the approval until every partition takes writes and every group works again
    """

    source: str
    target: str
    since: float
    write_outage_seconds: float | None
    longest_at: Partition | None
    restored_seconds: float | None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of a report.

    :param acknowledged: since the first period began
    :param redelivered: processed again although the group had committed past it
    :param uncommitted_at_freeze: processed again on the other cluster because it was never committed
    :param rpo_seconds: how far the last acknowledged write was ahead of the first lost one
    :param losses: of a disaster; ``None`` where there was none
    """

    acknowledged: int
    lost: int
    reordered: int
    duplicated: int
    looped: int
    both_sides: int
    skipped: int
    redelivered: int
    uncommitted_at_freeze: int
    redelivered_by_group: Mapping[str, int]
    uncommitted_by_group: Mapping[str, int]
    rpo_seconds: float
    losses: Losses | None = None


@dataclass(frozen=True, slots=True)
class Losses:
    """The numbers of a disaster.

    :param predicted: how many records the approval said would be lost at least
    :param real: acknowledged records that are not on the active cluster other than published again from the list
    :param stranded: how many records the list holds
    :param own: how many of them no application wrote, but the project itself: canaries, which nobody publishes again
    :param rescued: how many of them were published again, in their topic or in its ``.stranded`` topic
    :param window_records: writes that the old cluster acknowledged after the new one was allowed to open
    :param window_seconds: from when the old cluster could be reached until it was proven to refuse
    """

    predicted: int | None
    real: int
    stranded: int
    own: int
    rescued: int
    window_records: int
    window_seconds: float


@dataclass(frozen=True, slots=True)
class InvariantReport:
    """The result of the check.

    :param unknown: what could not be checked; a report with any is not good
    """

    findings: tuple[InvariantResult, ...]
    figures: Figures
    switches: tuple[Switch, ...]
    unknown: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether every invariant that applies to this kind of run held."""
        judged = [finding for finding in self.findings if finding.outcome != "not judged"]
        return not self.unknown and bool(judged) and all(finding.outcome == "held" for finding in judged)

    def also(self, findings: Iterable[InvariantResult]) -> InvariantReport:
        """Return the report with more results, in the order of the invariants."""
        return replace(
            self, findings=tuple(sorted((*self.findings, *findings), key=lambda each: int(each.invariant[1:])))
        )

    @property
    def violated(self) -> tuple[InvariantResult, ...]:
        """The findings that say that an invariant was broken."""
        return tuple(finding for finding in self.findings if finding.outcome == "violated")
