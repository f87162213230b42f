"""How a copy gets its faults: applications work, MirrorMaker copies, dies and is helped along, and people interfere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster, NotFound, TopicPartition
from kafka_dr.waiting import wait_until
from lab.demo.observed.checkpoints import Checkpointed, read_checkpoints
from lab.demo.observed.faults import FaultMaker
from lab.demo.observed.identified import CopiedRecords, PairOfLogs, read_pairs
from lab.demo.observed.others_flow import CHECKPOINTS, GROUP_PREFIXES, OthersFlow, copy_of
from lab.demo.observed.truth import FaultyRecords, GroupCost, RecordFault, Truth
from lab.errors import LabError
from lab.traffic import billing, payments

TOPICS = (payments.TOPIC, billing.TOPIC)
COPIED_SECONDS, CHECKPOINT_SECONDS = 240.0, 60.0
#: How long applications write after MirrorMaker has ended: some records for each partition.
NOT_COPIED_SECONDS = 2.0
SKIPPED, UNREAD = 5, 20
AT_THE_END, AS_A_NUMBER = "orders-ledger", "orders-mailer"

_Pairs = Mapping[TopicPartition, PairOfLogs]


@dataclass(frozen=True, slots=True)
class CourseOfFaults:
    """One course of events.

    :param flow: its principals exist
    :param source: as the lab's administrator
    :param target: likewise
    :param rest: ends the applications
    :param java_client: the file with the administrator's settings for Kafka's own tools, on the target
    :param did: shows what was done
    """

    flow: OthersFlow
    source: KafkaCluster
    target: KafkaCluster
    rest: Callable[[], None]
    bootstrap: str
    java_client: Path
    did: Callable[[str], None]

    def run(self) -> Truth:
        """Let everything happen, and return what is known about it; at the end nothing runs but the brokers.

        :raises LabError: a fault could not be put in
        """
        self._copy("MirrorMaker copies")
        self.flow.kill()
        time.sleep(NOT_COPIED_SECONDS)
        self.did("MirrorMaker is killed before it commits what it has copied, and started again")
        self._copy("MirrorMaker copies again, and continues")
        self.flow.stop()
        by_hand = self._by_hand()
        self._copy("MirrorMaker continues after them")
        self._wait_for_checkpoints()
        self.flow.stop()
        setting = self._maker().shorten(payments.TOPIC)
        self.did(f"{setting.setting} of {copy_of(setting.topic)} is set from {setting.source} to {setting.target}")
        time.sleep(NOT_COPIED_SECONDS)
        self.rest()
        self.did("MirrorMaker has ended, and applications wrote a little more: that is not copied")
        pairs = self._pairs()
        self._place_groups(pairs)
        return Truth((*by_hand, *_found_by_numbers(pairs)), (setting,), self._groups(pairs))

    def _copy(self, what: str) -> None:
        """Start MirrorMaker, and wait until it has copied what the source had before."""
        arrivals = CopiedRecords(self.source, self.target, TOPICS)
        needed = {p: pair.source[-1].writer for p, pair in self._pairs().items() if pair.not_copied}
        began = time.monotonic()
        self.flow.start()
        seen = wait_until(
            arrivals.look,
            lambda arrived: all(writer in arrived[p] for p, writer in needed.items()),
            clock=SystemClock(),
            seconds=COPIED_SECONDS,
            pause_seconds=0.5,
        )
        late = [str(p) for p, writer in needed.items() if writer not in seen[p]]
        if late or not needed:
            raise LabError(
                f"MirrorMaker has not copied {', '.join(late) or 'anything'} within {COPIED_SECONDS:.0f} s: "
                "see `logs mirrormaker`"
            )
        records = sum(map(len, seen.values()))
        self.did(f"{what}: {records:,} records have arrived [dim]{time.monotonic() - began:.1f} s[/]")

    def _by_hand(self) -> Sequence[FaultyRecords]:
        maker = self._maker()
        lost = maker.skip(TopicPartition(payments.TOPIC, 1), SKIPPED)
        self.did(f"its position in {lost.partition} is moved past {lost.count} records, from {lost.source_offset} on")
        changed = maker.change(TopicPartition(payments.TOPIC, 2))
        self.did(f"the copy of {changed.partition} at {changed.source_offset} is written with another amount")
        foreign = maker.write_foreign(TopicPartition(payments.TOPIC, 3))
        self.did(f"somebody writes a record of his own into {copy_of(str(foreign.partition))}")
        return lost, changed, foreign

    def _place_groups(self, pairs: _Pairs) -> None:
        """Give two groups positions as people do who have no map of offsets."""
        maker, partition = self._maker(), TopicPartition(payments.TOPIC, 4)
        read = max(0, pairs[partition].last_copied + 1 - UNREAD)
        maker.place(AT_THE_END, partition, read=read, begin=maker.end_of_copy(partition))
        self.did(f"{AT_THE_END} is set to the end of the copy while {UNREAD} copied records are unread")
        maker.place(AS_A_NUMBER, partition, read=read, begin=read)
        self.did(f"the offset of {AS_A_NUMBER}, {read}, is carried over as a number")

    def _groups(self, pairs: _Pairs) -> tuple[GroupCost, ...]:
        """Return what each group really gets that continues on the target."""
        names = [name for name in self.source.groups.names() if name.startswith(GROUP_PREFIXES)]
        committed, placed = self.source.groups.offsets(names), self.target.groups.offsets(names)
        checkpoints = self._checkpoints()
        found = []
        for group in sorted(name for name in names if committed.get(name)):
            begins = checkpoints.get(group, {}) | {
                TopicPartition(p.topic.removeprefix(copy_of("")), p.partition): offset
                for p, offset in placed.get(group, {}).items()
            }
            costs = [pairs[p].resumed(position, begins[p]) for p, position in committed[group].items() if p in begins]
            again, skipped = (sum(column) for column in zip(*costs, strict=True)) if costs else (0, 0)
            found.append(GroupCost(group, again, skipped, len(committed[group]) - len(costs)))
        return tuple(found)

    def _checkpoints(self) -> Checkpointed:
        return read_checkpoints(self.bootstrap, self.java_client, records=self._count_checkpoints())

    def _count_checkpoints(self) -> int:
        try:
            partitions = self.target.topics.describe([CHECKPOINTS])[CHECKPOINTS].partitions
        except NotFound:
            return 0
        return sum(self.target.topics.high_watermarks(partitions).values())

    def _wait_for_checkpoints(self) -> None:
        """Wait for the first ones of this process; without any, every group would have no position."""
        before = self._count_checkpoints()
        after = wait_until(
            self._count_checkpoints, lambda count: count > before, clock=SystemClock(), seconds=CHECKPOINT_SECONDS
        )
        if not after:
            raise LabError(f"MirrorMaker wrote no checkpoint within {CHECKPOINT_SECONDS:.0f} s: see `logs mirrormaker`")

    def _maker(self) -> FaultMaker:
        return FaultMaker(self.source, self.target, self._pairs())

    def _pairs(self) -> _Pairs:
        return read_pairs(self.source, self.target, TOPICS)


def _found_by_numbers(pairs: _Pairs) -> list[FaultyRecords]:
    """Return what MirrorMaker did by itself, and what it did not come to.

    :raises LabError: it did no fault that was wanted
    """
    found = []
    for partition, pair in sorted(pairs.items()):
        counts = {
            (RecordFault.SECOND_COPIES, "MirrorMaker was killed before it committed"): pair.second_copies,
            (RecordFault.ABORTED, "MirrorMaker reads uncommitted records, too"): pair.copies_of_aborted,
            (RecordFault.NOT_COPIED, "MirrorMaker had ended"): pair.not_copied,
        }
        found += [FaultyRecords(fault, how, partition, count) for (fault, how), count in counts.items() if count]
    if RecordFault.SECOND_COPIES not in {each.fault for each in found}:
        raise LabError("MirrorMaker committed right before it was killed, and copied nothing again: run the demo again")
    return found
