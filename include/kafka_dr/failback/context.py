"""What the steps of a failback share: its mode, the stranded records, and whether it still holds the group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.erasure import Erasure, erasures_in
from kafka_dr.audit.stranded import StrandedList, StrandedStore, StrandedUnreadable
from kafka_dr.clusters import TopicPartition
from kafka_dr.codec import NotDecoded
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused
from kafka_dr.evidence.canonical import digest
from kafka_dr.failback.late import (
    Choices,
    choices_from_json,
    chosen,
    of_earlier_failback,
    only,
    passed_over,
    unless_deleted,
)
from kafka_dr.register import Phase
from kafka_dr.register.abandonment import (
    Abandonment,
    abandonment,
    failback_changed_it_since,
)
from kafka_dr.register.quarantine import QuarantinedRange
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.rescue.content import content_opener
from kafka_dr.rescue.kept import erased_records, missing_from
from kafka_dr.runs.flows_of_standby import flows_of
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.request import FailbackMode, RescueWish
from kafka_dr.runs.run import Run
from kafka_dr.topology.flow import LateChoice


class FailbackContext:
    """The facts of a failback that several of its steps need.

    :param run: ``source`` is the active cluster, ``target`` the one that becomes a copy again
    :param patience_seconds: how long a check waits for what ``dr_health`` corrects by itself
    """

    def __init__(self, run: Run, *, patience_seconds: float = 0.0) -> None:
        self.run = run
        self.patience_seconds = patience_seconds

    @property
    def mode(self) -> FailbackMode | Literal["deliver"]:
        """How the old cluster becomes a copy; from the claim on: as approved."""
        if not self.run.opens_copy:
            # Nothing of it has to be given up: what nobody has copied arrives late.
            return "deliver"
        claimed: FailbackMode | None = self.run.journal.get("claim", {}).get("mode")
        return claimed or self.run.request.mode

    @property
    def rescue(self) -> RescueWish:
        """What is done with the stranded records, which are kept in any case; from the claim on: as approved."""
        if not self.run.opens_copy:
            return "keep"
        claimed: RescueWish | None = self.run.journal.get("claim", {}).get("rescue")
        return claimed or self.run.request.rescue

    @cached_property
    def late(self) -> Choices:
        """What becomes of the late records of each topic; from the claim on: as approved. Empty but for ``deliver``."""
        if self.mode != "deliver":
            return {}
        claimed = self.run.journal.get("claim", {}).get("late")
        if claimed is not None:
            return choices_from_json(claimed)
        return {**chosen(self.stranded, self._wished), **(self.late_of_earlier or {})}

    def _wished(self, topic: str) -> LateChoice:
        """Return what was wished for the late records of a topic; of canaries nothing is kept from the canary."""
        group, wish = self.run.group, self.run.request.late
        declared = group.flow.late_choice(topic)
        if topic == group.canary_topic:
            return declared
        return unless_deleted(declared, self.stranded, topic) if wish == "declared" else wish

    @property
    def late_of_earlier(self) -> Choices | None:
        """What an abandoned failback has begun to do with them, which stays; ``None`` if there was none."""
        history = {run: facts for run, facts in self.run.history.items() if run != self.run.request.run}
        return of_earlier_failback(history, self.failover.name)

    @cached_property
    def passed_over(self) -> tuple[QuarantinedRange, ...]:
        """What the flow from the old cluster passes over, because it is not delivered."""
        # The list is in the evidence, whose storage no claimed run waits for that delivers everything.
        return passed_over(self.stranded, self.late) if set(self.late.values()) - {"deliver"} else ()

    @cached_property
    def published(self) -> StrandedList:
        """The part of the list that is published to the active cluster."""
        if self.mode == "deliver":
            return only(self.stranded, self.late, "stranded_topic")
        return self.stranded if self.rescue == "republish" else replace(self.stranded, partitions=())

    @cached_property
    def failover(self) -> Abandonment:
        """How the run that opened the active cluster left the old one.

        :raises Refused: the group has no record in the register
        """
        state = self.run.register_state
        if state is None:
            raise Refused(
                f"no register has a record of {self.run.group.name}, so there is nothing to fail back: run dr_adopt"
            )
        return abandonment(self.run.history, state, self.run.target)

    @cached_property
    def store(self) -> StrandedStore:
        """Where the list of stranded records is kept."""
        return StrandedStore(self.run.clients.evidence_root, self.run.group.name, self.failover.name)

    @cached_property
    def stranded(self) -> StrandedList:
        """The list of stranded records.

        :raises Refused: there is none
        :raises NeedsPerson: its files cannot be read
        """
        try:
            found = self.store.read()
        except StrandedUnreadable as error:
            raise NeedsPerson(f"the list of stranded records in {self.store.folder} cannot be read: {error}") from error
        if found is None:
            raise Refused(
                f"there is no list of stranded records of {self.failover.old}: run the task stranded_records, "
                "which makes it; without Airflow, spark-submit spark/jobs/stranded_records.py --cluster "
                f"{self.failover.old}"
            )
        return found

    @cached_property
    def erasures(self) -> tuple[Erasure, ...]:
        """What was erased from that list, as the register knows it.

        :raises NeedsPerson: the register's facts cannot be read
        """
        try:
            return erasures_in(self.run.history.get(self.failover.name, {}))
        except NotDecoded as error:
            raise NeedsPerson(
                f"what was erased from the list of {self.failover.name} cannot be read in the register: {error}"
            ) from error

    @property
    def erased(self) -> str:
        """What was erased, in words that follow a sentence; empty if nothing was."""
        if not self.erasures:
            return ""
        by = ", ".join(dict.fromkeys(each.by for each in self.erasures))
        return f"; the content of {self.erased_records} of them was erased by {by}, and cannot be published"

    @cached_property
    def erased_records(self) -> int:
        """How many records of the list have lost their content.

        :raises NeedsPerson: a file of the list cannot be read
        """
        return erased_records(self.stranded, self.store.folder) if self.erasures else 0

    def missing(self) -> str:
        """Say what of the list is no longer kept; empty if every record is there, or was erased as a register says.

        A list whose key is not known counts as not kept.
        """
        if wrong := missing_from(self.stranded, self.store.folder, self.erasures):
            return wrong
        try:
            content_opener(self.stranded, self.keys)
        except KafkaDrError as error:
            return str(error)
        return ""

    @property
    def no_longer_elsewhere(self) -> str:
        """Say what other standbys no longer hold of what is not on the list because they held it; empty if they do.

        :raises KafkaDrError: one of them does not answer
        """
        roles = self.run.record().roles
        for each in self.stranded.elsewhere:
            holds = roles.of(each.cluster) in (Role.PENDING, Role.DIVERGED)
            if not holds or self.run.topic_ids(each.cluster) != dict(each.topic_ids):
                return f"{each.records} records are not on the list because {each.cluster} held them, and that changed"
        return ""

    @property
    def keys(self) -> ContentKeys | None:
        """The keys of the content that is kept; ``None`` if it is not encrypted, or the topology names none.

        :raises Refused: the topology names a connection that cannot be used
        """
        return self.run.clients.content_keys if self.stranded.encryption is not None else None

    @property
    def list_sha256(self) -> str:
        """The digest that ties an approval to this list."""
        return digest(self.stranded.to_json())

    @cached_property
    def was_begun_before(self) -> bool:
        """Whether an earlier failback, which was abandoned, has changed the old cluster."""
        return failback_changed_it_since(self.run.history, self.failover.name, by_others_than=self.run.request.run)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters that a failback changes, in the declared order; no other one has to answer."""
        ends = (self.run.source, self.run.target)
        return tuple(name for name in self.run.group.clusters if name in ends)

    @cached_property
    def other_flows(self) -> tuple[Flow, ...]:
        """The flows that could write to the old cluster, or from it to the active one, but for that of this run."""
        found = flows_of(self.run.record(), self.run.target)
        return tuple(flow for flow in found if flow != self.run.flow and self.run.owns_flow(flow))

    @property
    def own_flow(self) -> tuple[Flow, ...]:
        """The flow to the old cluster; none if it belongs to another group, which starts and stops it."""
        return (self.run.flow,) if self.run.owns_flow(self.run.flow) else ()

    def guard(self) -> RegisterGuard:
        """Return what is asked right before each change: whether this failback still holds the group."""
        run = self.run
        return run.guard_by(run.source, run.holding(Phase.DIVERGED, "failback"))


@dataclass(frozen=True, slots=True)
class OldClusterEnds:
    """The log ends of the old cluster.

    :param journaled: as in the list of stranded records, which was made when the cluster was fenced
    :param now: as they are now
    """

    journaled: Mapping[TopicPartition, int]
    now: Mapping[TopicPartition, int]

    @property
    def moved(self) -> list[TopicPartition]:
        """The partitions whose ends differ."""
        return sorted(p for p in self.journaled.keys() | self.now.keys() if self.journaled.get(p) != self.now.get(p))


def ends_of_old_cluster(context: FailbackContext) -> OldClusterEnds:
    """Compare the ends that the list of stranded records was made from with those of now."""
    partitions = [p for topic in context.run.topics(context.run.target).values() for p in topic.partitions]
    now = context.run.operator(context.run.target).topics.high_watermarks(partitions)
    listed = {TopicPartition(topic, number): end for (topic, number), end in context.stranded.ends().items()}
    return OldClusterEnds(listed, now)
