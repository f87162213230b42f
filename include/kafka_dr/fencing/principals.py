"""Proof by each principal itself: its own credential asks, so it does not matter how the cluster decides.

Where ACLs do not decide, a refused probe says nothing about the applications: rules of roles and groups of users may
cover the one and miss the other. So each principal's own writes have to be refused, on every partition leader. A
principal without a credential here is not proven, whatever the program says that denies it.

A login that fails is no refusal: connections that are authenticated continue to write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kafka_dr import parallel
from kafka_dr.clock import Clock
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.read_permission import ReadVerdict
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.fencing import proof
from kafka_dr.outcomes import Check, worst
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until


@dataclass(frozen=True, slots=True)
class Credential:
    """One principal of a group, and how it reaches a cluster.

    :param reached: the cluster as this principal; ``None`` without a connection
    """

    principal: str
    reached: KafkaCluster | None


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked with every credential of one cluster.

    :param seen_by: the same cluster as the operator, who looks up leaders and coordinators
    :param deadline_seconds: how long each question is asked again: rules may take a moment to reach the brokers
    """

    seen_by: KafkaCluster
    credentials: Sequence[Credential]
    clock: Clock
    deadline_seconds: float

    def writes_refused(self, partitions: Collection[TopicPartition]) -> Check:
        """Prove that every leader refuses the writes of every principal."""

        def refused(reached: KafkaCluster) -> Check:
            return proof.writes_refused(
                reached,
                partitions,
                clock=self.clock,
                deadline_seconds=self.deadline_seconds,
                seen_by=self.seen_by,
            )

        return self._together("writes_refused", refused, "every write refused")

    def writes_allowed(self, partitions: Collection[TopicPartition], groups: Collection[str]) -> Check:
        """Prove that every principal may work: write to a partition at least, or if it only reads, in a group.

        Which topics a principal uses is not declared, so that one of them is enough.
        """

        def allowed(reached: KafkaCluster) -> Check:
            found = self._until(partial(self._may_work, reached, partitions, groups), bool)
            said = f"it may work on {self.seen_by.name}"
            wrong = (
                f"no leader and no coordinator on {self.seen_by.name} lets it work: give it its rights, or see whether "
                "its connection belongs to it"
            )
            return Check("writes_allowed", "ok" if found else "unknown", said if found else wrong)

        return self._together("writes_allowed", allowed, "may work")

    def reads_refused(self, groups: Collection[str]) -> Check:
        """Prove that every coordinator refuses READ to every principal."""
        return self._reads(groups, ReadVerdict.REFUSED)

    def reads_allowed(self, groups: Collection[str]) -> Check:
        """Prove that every principal may read in a group at least, if there are any that it could read in."""

        def allowed(reached: KafkaCluster) -> Check:
            if not groups or self._until(lambda: self._may_read(reached, groups), bool):
                return Check("reads_allowed", "ok", "it may read")
            wrong = f"no coordinator on {self.seen_by.name} lets it read: that is right only if it never reads"
            return Check("reads_allowed", "unknown", wrong)

        return self._together("reads_allowed", allowed, "may read")

    def _reads(self, groups: Collection[str], expected: ReadVerdict) -> Check:
        def answered(reached: KafkaCluster) -> Check:
            def others() -> dict[str, ReadVerdict]:
                found = reached.read_permission.ask(groups, seen_by=self.seen_by.group_coordinators)
                return {group: verdict for group, verdict in sorted(found.items()) if verdict is not expected}

            wrong = self._until(others, lambda found: not found)
            name = f"reads_{expected}"
            if not wrong:
                return Check(name, "ok", f"every READ {expected}")
            outcome = "unknown" if set(wrong.values()) == {ReadVerdict.UNKNOWN} else "failed"
            shown = ", ".join(f"{group} ({verdict})" for group, verdict in list(wrong.items())[:3])
            return Check(name, outcome, f"READ is not {expected} for {shown}")  # type: ignore[arg-type]

        return self._together(f"reads_{expected}", answered, f"every READ {expected}")

    def _may_work(self, reached: KafkaCluster, partitions: Collection[TopicPartition], groups: Collection[str]) -> bool:
        answers = reached.write_permission.ask(partitions, seen_by=self.seen_by.topics)
        return any(answer.verdict in ("allowed", "unable") for answer in answers) or self._may_read(reached, groups)

    def _may_read(self, reached: KafkaCluster, groups: Collection[str]) -> bool:
        found = reached.read_permission.ask(groups, seen_by=self.seen_by.group_coordinators)
        return ReadVerdict.ALLOWED in found.values()

    def _until(self, ask: Callable[[], proof.T], good: Callable[[proof.T], bool]) -> proof.T:
        return wait_until(
            ask,
            good,
            clock=self.clock,
            seconds=self.deadline_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
            retry=TryAgain,
        )

    def _together(self, name: str, ask: Callable[[KafkaCluster], Check], good: str) -> Check:
        by_principal = {each.principal: each for each in self.credentials}

        def one(principal: str) -> Check:
            reached = by_principal[principal].reached
            if reached is None:
                said = (
                    f"it has no connection in principal_connections of {self.seen_by.name}, so nothing proves what it "
                    "may do there"
                )
                return Check(name, "unknown", said)
            try:
                return ask(reached)
            except KafkaDrError as error:
                return Check(name, "unknown", f"it could not ask: {error}")

        return together(name, parallel.ask_all(one, by_principal), cluster=self.seen_by.name, good=good)


def together(name: str, found: Mapping[str, Check], *, cluster: str, good: str) -> Check:
    """Return one check for all principals: it is as good as its worst part.

    :param found: by principal
    :param good: what is said if all are well, as it continues "User:app: …"
    """
    wrong = {principal: check for principal, check in found.items() if check.outcome != "ok"}
    facts = {"principals": {principal: check.outcome for principal, check in sorted(found.items())}}
    if not found:
        return Check(name, "unknown", f"no principal could be asked on {cluster}", facts)
    if not wrong:
        said = f"{', '.join(sorted(found))} on {cluster}, each asked with its own credential: {good}"
        return Check(name, "ok", said, facts)
    return Check(
        name, worst(found.values()), "; ".join(f"{who}: {check.detail}" for who, check in wrong.items()), facts
    )
