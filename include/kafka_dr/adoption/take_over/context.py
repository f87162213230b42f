"""What the steps of a take over share: the existing replication, the audit of its copy, and what was approved of it."""

from __future__ import annotations

from functools import cached_property

from kafka_dr.adoption.take_over.audited_copy import AuditedCopy, audited_copy
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.register.taken_over import COPY, CopyMade
from kafka_dr.replication.existing.port import ExistingReplication, declared
from kafka_dr.runs.run import Run
from kafka_dr.topology.existing import ExistingReplicationSpec


class TakeOverContext:
    """The facts of a take over that several of its steps need.

    :param run: ``source`` is the cluster that applications write to, ``target`` the one with the copy
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def declared(self) -> ExistingReplicationSpec:
        """What the topology says of the existing replication."""
        return declared(self.run.group)

    @cached_property
    def existing(self) -> ExistingReplication:
        """The existing replication.

        :raises Refused: the topology declares none, or one that cannot be taken over
        """
        return self.run.clients.replication.existing(self.run.flow)

    def require_still(self) -> None:
        """Ask whether the existing replication is stopped, if it writes as this project's replicator.

        :raises Refused: somebody started it again, and no DENY keeps it from writing
        """
        if self.run.group.existing_is_own and not (found := self.existing.status()).at_rest:
            raise Refused(
                f"{found}: somebody started it again, and it writes as this project's replicator, so that both would "
                "copy. Stop it, then trigger a new run"
            )

    @cached_property
    def audited(self) -> AuditedCopy:
        """The copy, as the newest audit of it says.

        :raises Refused: there is none
        :raises NeedsPerson: it cannot be read
        """
        return audited_copy(self.run.clients.evidence_root, self.run.flow)

    @cached_property
    def approved(self) -> CopyMade:
        """The copy as it was approved, from the journal.

        :raises NeedsPerson: it is not journaled
        """
        return CopyMade.from_json(self.run.fact(COPY))

    def shared(self) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Return the group's partitions of which both clusters hold something, and those that only the target has."""
        on_source, on_target = set(self.run.partitions(self.run.source)), set(self.run.copied_by(self.run.flow))
        return sorted(on_source & on_target), sorted(on_target - on_source)
