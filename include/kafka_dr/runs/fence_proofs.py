"""What proves a fence on a cluster, by how the cluster decides: by ACLs, or by rules of its own.

Where ACLs decide
    ACLs are read back, and the probe, which is denied last, is refused. Where others apply the ACLs, every broker is
    read, as nobody knows in which order they get them.
Where they do not
    each principal is refused itself, with its own credential
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from kafka_dr import parallel
from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.fencing import proof
from kafka_dr.fencing.principals import Credential, Questions, together
from kafka_dr.outcomes import Check

if TYPE_CHECKING:
    from kafka_dr.runs.group_context import GroupContext

#: Which role asks: the probe, which is fenced as the applications are, or the replicator.
Asking = Literal["probe", "replicator"]
#: The partitions of a protection group, each with the broker that leads it; -1 where none does.
Led: TypeAlias = Mapping[TopicPartition, int]


class FenceProofs:
    """Asks the brokers of one cluster what they refuse and allow.

    :param seconds: how long brokers get to act on a change that they have acknowledged
    :param led: the group's partitions as they were looked up right before; ``None``: they are looked up
    """

    def __init__(self, context: GroupContext, cluster: str, *, seconds: float, led: Led | None = None) -> None:
        self._context = context
        self._cluster = cluster
        self._led = led
        self._by_acls = context.decides_by_acls(cluster)
        # Rules of a cloud take as long as its owners say; brokers that were given ACLs take milliseconds.
        self._seconds = seconds if self._by_acls else max(seconds, context.rules_need_seconds(cluster))

    def writes_refused(self, by: Asking) -> Check:
        """Prove that every leader of the group's partitions refuses writes."""
        return self._with_principals(by, proof.writes_refused, lambda each: each.writes_refused(self._partitions()))

    def writes_allowed(self, by: Asking) -> Check:
        """Prove that every leader takes writes of this role, and that the applications may work."""
        return self._with_principals(by, proof.writes_allowed, self._applications_work)

    def writes_authorized(self) -> Check:
        """Prove that every leader lets the probe write, also one that takes no writes now."""
        return self._with_principals("probe", proof.writes_authorized, self._applications_work)

    def reads_refused(self, groups: Collection[str]) -> Check:
        """Prove that every coordinator refuses READ."""
        if self._by_acls:
            probe = self._context.probe(self._cluster)
            return proof.reads_refused(probe, groups, clock=self._context.clock, deadline_seconds=self._seconds)
        return self._questions(probe_too=True).reads_refused(groups)

    def reads_allowed(self, groups: Collection[str]) -> Check:
        """Prove that every coordinator allows READ."""
        if self._by_acls:
            probe = self._context.probe(self._cluster)
            return proof.reads_allowed(probe, groups, clock=self._context.clock, deadline_seconds=self._seconds)
        return self._questions(probe_too=True).reads_allowed(groups)

    def denies_present(self, wanted: Collection[Acl]) -> Check:
        """Read DENYs back. Where ACLs do not decide, that proves nothing, and is only compared."""
        rules, operator = self._context.access_rules(self._cluster), self._context.operator(self._cluster)
        read: Callable[[], frozenset[Acl]] = rules.list
        if self._by_acls and not rules.is_direct:

            def read() -> frozenset[Acl]:
                return frozenset.intersection(*operator.acls_of_brokers.list(only_denies=True).values())

        found = proof.acls_present(self._cluster, wanted, read, clock=self._context.clock)
        if self._by_acls or found.outcome != "ok":
            return found
        said = (
            f"the program of {self._cluster} says that it denies all {len(wanted)}; only refused writes prove that "
            "anybody is denied"
        )
        return Check(found.name, "excused", said)

    def _with_principals(
        self, by: Asking, prove: Callable[..., Check], of_principals: Callable[[Questions], Check]
    ) -> Check:
        """Ask as a role; where ACLs do not decide, and the role speaks for the applications, as these, too."""

        def as_role() -> Check:
            operator = self._context.operator(self._cluster)
            led = self._context.led(self._cluster) if self._led is None else self._led
            found = prove(
                self._context.clients.cluster(self._cluster, by),
                led.keys(),
                clock=self._context.clock,
                deadline_seconds=self._seconds,
                seen_by=operator,
                led=led,
            )
            return found if found.outcome == "ok" else self._with_its_login(found, by)

        if self._by_acls or by == "replicator":
            return as_role()
        role, principals = parallel.at_once(as_role, lambda: of_principals(self._questions()))
        group = self._context.group
        if role.outcome == "ok":
            return principals
        return together(
            principals.name,
            {group.probe_principal: role, ", ".join(group.principals): principals},
            cluster=self._cluster,
            good="",
        )

    def _with_its_login(self, found: Check, by: Asking) -> Check:
        """Say it first if the connection logs in as another principal than the declared one, as far as that is known.

        A certificate is not looked at: brokers make a principal of it by rules of their own.
        """
        login, group = self._context.clients.cluster(self._cluster, by).settings, self._context.group
        declared = group.probe_principal if by == "probe" else group.replicator_principal
        if login.username is None or declared == f"User:{login.username}":
            return found
        said = (
            f"connection {login.connection} logs in as {login.username}, and the topology declares {declared} as "
            f"{by}_principal: correct one of them"
        )
        return replace(found, detail=f"{said}. {found.detail}")

    def _applications_work(self, questions: Questions) -> Check:
        return questions.writes_allowed(self._partitions(), self._context.consumer_groups(self._cluster))

    def _partitions(self) -> Collection[TopicPartition]:
        return self._context.partitions(self._cluster)

    def _questions(self, *, probe_too: bool = False) -> Questions:
        group, clients = self._context.group, self._context.clients
        credentials = [Credential(who, clients.principal(self._cluster, who)) for who in group.principals]
        if probe_too:
            credentials.append(Credential(group.probe_principal, self._context.probe(self._cluster)))
        return Questions(self._context.operator(self._cluster), credentials, self._context.clock, self._seconds)
