"""What a take over has journaled of the copy that another replication made, before this project's flow began.

That replication may have copied records twice, left some out, or changed their order. What is known of its copy decides
later how the offsets of consumer groups are translated that have not read so far: only from pairs that a comparison of
all records has found, and never past a record that was copied in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from kafka_dr.codec import Rows, StoredDocument, StoredRow, TopicIds
from kafka_dr.positions import CountedRange, SeedPoint, TopicPartition
from kafka_dr.register.flow_seed import FlowSeed, journaled_seeds, newest
from kafka_dr.register.port import History
from kafka_dr.register.state import Phase, RegisterState

#: The names of the facts: the copy as it was approved; how far it was compared before its replication was stopped;
#: where this project's flow begins after it; and what that replication was, for handing back.
COPY, TAIL_SEEN, BEGINS, EXISTING = "copy", "tail_seen", "begins", "existing"
#: In the facts of a copy and of its tail: where the target holds records a second time.
SECOND_COPIES = "second_copies"
#: The name of the fact that decides how a release ends: whoever journals it first, handing back or abandoning.
RELEASE_ENDS = "release_ends"


def taken_over_by(history: History, state: RegisterState) -> FlowSeed | None:
    """Return the seed of the take over by which a group was adopted; ``None`` if it was adopted in another way. Pure.

    An adoption of any kind journals such a seed, and its mode; a later one counts for the group instead. So a take over
    counts no more once the group was released and adopted again.

    :param history: everything journaled about the group, in a register of the clusters that it was taken over on
    """
    if state.phase is Phase.RELEASED or state.verb == "adopt":
        return None
    seeds = journaled_seeds(history).values()
    found = newest(seed for seed in seeds if seed.mode is not None and seed.epoch <= state.epoch)
    return found if found is not None and found.takes_over else None


@dataclass(frozen=True, slots=True)
class Displaced(StoredRow):
    """Records in a row that were copied in another order than the source has them.

    :param source: their offsets on the source: the first one, and next after the last one
    :param target: the same of their copies
    """

    partition: TopicPartition
    source: tuple[int, int]
    target: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CopyMade(StoredDocument):
    """The copy that another replication had made up to an audit, as a person approved it.

    :param at: when the audit read the ends of the logs, ISO 8601, UTC
    :param report: the folder of the audit's report, below the evidence root
    :param sha256: of that report and of its findings
    :param topic_ids: of the source's topics
    :param compared: by partition, up to where both logs were compared; next to read
    :param pairs: by partition, some offsets of records and of their copies, rising
    :param findings: how many records, by topic and kind
    :param displaced: what is in another order
    :param second_copies: by partition, where the target holds records a second time, in a few ranges of its offsets
    """

    at: str
    report: str
    sha256: str
    topic_ids: TopicIds
    compared: Mapping[TopicPartition, SeedPoint]
    pairs: Mapping[TopicPartition, Sequence[SeedPoint]] = field(repr=False)
    findings: Annotated[Mapping[str, Mapping[str, int]], Rows("topic", "records")] = field(default_factory=dict)
    displaced: tuple[Displaced, ...] = ()
    second_copies: Mapping[TopicPartition, Sequence[CountedRange]] = field(default_factory=dict)


#: Points and counted ranges by partition, as they are journaled.
Points = dict[TopicPartition, tuple[SeedPoint, ...]]
Ranges = dict[TopicPartition, tuple[CountedRange, ...]]
