"""What is known of one protection group: its clients, its topics and consumer groups, and who may write to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from kafka_dr import parallel
from kafka_dr.access_rules import AccessRules
from kafka_dr.clusters import Acl, KafkaCluster, Topic, TopicPartition
from kafka_dr.clusters.renamed import FlowCluster, seen_as
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.fencing.change import AclChanges
from kafka_dr.fencing.required import denies_of, required_now
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.flow_seed import FlowSeed
from kafka_dr.register.kept_acls import KeptAcls, KeptByItself
from kafka_dr.register.taken_over import taken_over_by
from kafka_dr.replication.flow import Flow
from kafka_dr.runs import register_read, topics_of_patterns, unfiled
from kafka_dr.runs.acls_kept_elsewhere import KeptElsewhere
from kafka_dr.runs.clients import Clients, Role
from kafka_dr.runs.fence_proofs import Asking, FenceProofs, Led
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.register_guard import Condition, RegisterGuard
from kafka_dr.runs.request import StepName
from kafka_dr.runs.sealing import sealed_since
from kafka_dr.topology.model import ProtectionGroup

#: How long brokers get to act on an ACL that they have acknowledged.
PROOF_SECONDS = 5.0

T = TypeVar("T")


class GroupContext:
    """A protection group and the clients that reach its clusters; needs no run.

    :param group: the name of the protection group
    :param clients: reach every cluster, register, flow and route
    :raises UnknownName: the topology declares no such group
    """

    def __init__(self, group: str, clients: Clients) -> None:
        self.clients = clients
        #: The group as the topology declares it, without the topics that its patterns match.
        self.declared = clients.topology.group(group)
        #: By cluster and epoch: which take over has replaced replication to it.
        self._replaced: dict[tuple[str, int], FlowSeed | None] = {}
        self._looked = False
        self._looking = Lock()
        self.clock = clients.clock
        #: The clusters that have just not answered, each with its error: they are not waited for again.
        self.known_silent: Mapping[str, KafkaDrError] = {}
        #: The clusters whose registers did not answer when an unplanned failover asked for its standing.
        self.silent: frozenset[str] = frozenset()
        #: How long a change of access rules that are kept elsewhere may be waited for, if the topology allows more.
        self.rules_seconds = math.inf
        #: What several checks read together, each cluster once.
        self.read_cache = ReadCache(topics=self.topics, acls=lambda cluster: self.operator(cluster).acls.list())

    @property
    def group(self) -> ProtectionGroup:
        """The group, with the topics that its patterns match: looked up once, on the clusters that answer."""
        if not self.declared.topic_patterns:
            return self.declared
        with self._looking:
            if not self._looked:
                topics_of_patterns.look_in_time(self.declared, self.clients, self.known_silent)
                self._looked = True
        return self.clients.group(self.declared.name)

    def look_for_topics(self, *clusters: str) -> frozenset[str]:
        """Look again on clusters that have to answer which topics the patterns match; return those that are new.

        :raises KafkaDrError: a cluster does not answer
        """
        if not self.declared.topic_patterns:
            return frozenset()
        before = frozenset(self.group.matched_topics)
        topics_of_patterns.look(self.declared, self.clients, clusters)
        return frozenset(self.group.matched_topics) - before

    @property
    def opens_copy(self) -> bool:
        """Whether a failover lets applications write to the copy; else it stays a copy, and the flow continues."""
        return not self.declared.renames_copies

    def flow_between(self, source: str, target: str) -> Flow:
        """Return what copies from one cluster of the group to another, whichever group it belongs to."""
        return Flow(self.declared.flow_group(source), source, target)

    def owns_flow(self, flow: Flow) -> bool:
        """Return whether a flow is this group's to start, stop and judge."""
        return flow.group == self.declared.flow_group(flow.source) == self.declared.name

    def own_flows(self, ends: Iterable[tuple[str, str]]) -> list[Flow]:
        """Return those flows of this group that lead from one cluster to another.

        :param ends: source and target of each
        """
        return [flow for each in ends if self.owns_flow(flow := self.flow_between(*each))]

    def operator(self, cluster: str) -> KafkaCluster:
        """Return a cluster as the operator sees it."""
        return self.clients.cluster(cluster, "operator")

    def copies_by(self, flow: Flow, role: Role = "operator") -> FlowCluster:
        """Return the target of a flow with the copies on it under the names of their originals."""
        return seen_as(self.clients.cluster(flow.target, role), self.group.naming(flow.source, flow.target))

    def probe(self, cluster: str) -> KafkaCluster:
        """Return a cluster as the probe sees it, which is fenced as the applications are."""
        return self.clients.cluster(cluster, "probe")

    def topics(self, cluster: str) -> dict[str, Topic]:
        """Describe the group's topics on a cluster, now."""
        return self.operator(cluster).topics.describe(self.topic_names(cluster))

    def topic_names(self, cluster: str) -> list[str]:
        """Return the names of the group's topics on a cluster, now."""
        return sorted(filter(self.group.owns_topic, self.operator(cluster).topics.names()))

    def topic_ids(self, cluster: str) -> dict[str, str]:
        """Return the ids of the group's topics on a cluster, now; a topic that is created again has a new id."""
        return {name: topic.topic_id for name, topic in self.topics(cluster).items()}

    def written_by_flows(self, cluster: str) -> dict[TopicPartition, int]:
        """Return the partitions that flows write to on a cluster, now, each with the broker that leads it.

        Where copies have the names of their originals these are the group's own.
        """
        if not self.declared.renames_copies:
            return self.led(cluster)
        return self.operator(cluster).topics.led(lambda name: self.group.original_of(name, cluster) is not None)

    def copied_by(self, flow: Flow) -> tuple[TopicPartition, ...]:
        """Resolve a flow's copies on its target, now, by the names of the originals."""
        return self.copies_by(flow).topics.partitions(self.group.owns_topic)

    def copies_on(self, cluster: str) -> frozenset[str]:
        """Return the topics on a cluster, now, that are copies with other names than their originals."""
        if not self.declared.renames_copies:
            return frozenset()
        names = self.operator(cluster).topics.names()
        return frozenset(name for name in names if self.group.original_of(name, cluster) is not None)

    def described_copies(self, cluster: str) -> dict[str, Topic]:
        """Describe those copies, now."""
        copies = self.copies_on(cluster)
        return self.operator(cluster).topics.describe(copies) if copies else {}

    def ids_of_copies(self, flow: Flow) -> dict[str, str]:
        """Return the ids of a flow's copies on its target, now, by the names of the originals."""
        topics = self.copies_by(flow).topics
        owned = topics.describe(filter(self.group.owns_topic, topics.names()))
        return {name: topic.topic_id for name, topic in owned.items()}

    def partitions(self, cluster: str) -> tuple[TopicPartition, ...]:
        """Resolve the group's topics on a cluster, now."""
        return self.operator(cluster).topics.partitions(self.group.owns_topic)

    def connect_readers(self) -> None:
        """Start connecting to both logs, for a step that will compare them."""
        for cluster in self.group.clusters:
            self.clients.cluster(cluster, "audit").connect_reader()

    def led(self, cluster: str) -> dict[TopicPartition, int]:
        """Return the group's partitions on a cluster, now, each with the broker that leads it; -1 where none does."""
        return self.operator(cluster).topics.led(self.group.owns_topic)

    def led_with_copies(self, cluster: str) -> dict[TopicPartition, int]:
        """Return the same, and the partitions of copies that have other names than their originals."""
        return self.operator(cluster).topics.led(partial(self.group.moves_positions_in, cluster=cluster))

    def writes_refused(self, cluster: str, *, by: Asking = "probe", led: Led | None = None) -> Check:
        """Ask every leader of the group's partitions, now, and say whether each refuses a write.

        :param led: what :meth:`led` returned right before, for several questions; ``None``: it is looked up
        """
        if by == "probe" and not self.declared.closes(cluster):
            return Check("writes_refused", "ok", self.stays_open(cluster))
        return self._proofs(cluster, led).writes_refused(by)

    def stays_open(self, cluster: str) -> str:
        """Say why no fence of this group covers the topics of a cluster."""
        return f"{cluster} takes the writes of its own clients, wherever those of other members are"

    def writes_allowed(self, cluster: str, *, by: Asking = "probe", led: Led | None = None) -> Check:
        """Ask every leader of the group's partitions, now, and say whether each would take a write.

        :param led: what :meth:`led` returned right before, for several questions; ``None``: it is looked up
        """
        return self._proofs(cluster, led).writes_allowed(by)

    def writes_authorized(self, cluster: str) -> Check:
        """Ask every leader of the group's partitions, now, and say whether every authorizer lets the probe write."""
        return self._proofs(cluster).writes_authorized()

    def reads_refused(self, cluster: str, groups: Collection[str]) -> Check:
        """Ask every coordinator of these consumer groups, now, and say whether each refuses READ."""
        return self._proofs(cluster).reads_refused(groups)

    def reads_allowed(self, cluster: str, groups: Collection[str]) -> Check:
        """Ask every coordinator of these consumer groups, now, and say whether each allows READ."""
        return self._proofs(cluster).reads_allowed(groups)

    def denies_present(self, cluster: str, wanted: Collection[Acl]) -> Check:
        """Read DENYs back, and say whether all of them are in force on a cluster."""
        return self._proofs(cluster).denies_present(wanted)

    def shut(self, cluster: str, denies: Collection[Acl]) -> Check:
        """Say whether a cluster refuses the group's writes; before replication has created its topics, by DENYs alone.

        Where ACLs do not decide, that cannot be known without a topic.

        :param denies: what has to be there
        """
        asked = self.declared.closes(cluster) and (self.partitions(cluster) or not self.decides_by_acls(cluster))
        return self.writes_refused(cluster) if asked else self.denies_present(cluster, denies)

    def _proofs(self, cluster: str, led: Led | None = None) -> FenceProofs:
        return FenceProofs(self, cluster, seconds=PROOF_SECONDS, led=led)

    def rules_in_force(self, cluster: str) -> frozenset[Acl]:
        """Return the access rules that are in force on a cluster, now; the DENYs of fences are among them."""
        return self.access_rules(cluster).list()

    def decides_by_acls(self, cluster: str) -> bool:
        """Return whether ACLs decide who may do what on a cluster."""
        return self.clients.topology.cluster(cluster).access_rules.acls_decide

    def may_deny_all(self, cluster: str) -> bool:
        """Return whether the topology permits DENYs of every operation on a cluster; the record has to say it, too."""
        rules = self.clients.topology.cluster(cluster).access_rules
        # Only brokers that are changed directly are known to apply an addition before the removal that follows it.
        return self.declared.fence_operations == "all" and rules.is_direct and rules.acls_decide

    def rules_need_seconds(self, cluster: str) -> float:
        """Return how long one change of a cluster's access rules may take; zero if its brokers are changed directly."""
        spec = self.clients.topology.cluster(cluster).access_rules
        return 0.0 if spec.is_direct else min(spec.applied_within_seconds, self.rules_seconds)

    def access_rules(self, cluster: str) -> AccessRules:
        """Return the access rules of a cluster, as far as the fences of this group are made of them."""
        return self.clients.access_rules(cluster, self.group, at_most_seconds=self.rules_seconds)

    def consumer_groups(self, cluster: str) -> list[str]:
        """Return the group's consumer groups on a cluster, now; with Kafka Streams' own groups if any of them moves."""
        operator = self.operator(cluster)
        names = {*operator.groups.names()}
        if self.declared.groups_policy.streams_moved:
            # The clients' list of consumer groups omits groups of Kafka Streams' own protocol.
            names |= {each.group for each in operator.group_kinds.listed() if each.kind == "streams"}
        return sorted(filter(self.declared.owns_group, names))

    def moved_groups(self, cluster: str) -> list[str]:
        """Return the group's consumer groups on a cluster whose offsets a failover moves.

        The topology can exclude groups from the move; their owners then set the offsets themselves.
        """
        not_moved = self.group.groups_policy.not_moved
        return [name for name in self.consumer_groups(cluster) if name not in not_moved]

    def read_register_state(self) -> RegisterState | None:
        """Read the registers of the group's clusters at once and return the highest record.

        :raises NeedsPerson: the records contradict each other, or the one that decides cannot be read, or the topology
            lacks a cluster that it names
        """
        found = register_read.decided(
            self.declared.name,
            self.each_cluster(lambda cluster: self.clients.register(cluster).read(self.declared.name)),
        )
        return register_read.require_declared(found, self.declared.clusters, self.declared.copies_named)

    def journals(self, run: str) -> list[dict[str, Any]]:
        """Return what a run journaled, of each register that answers."""
        found = self.each_cluster(lambda cluster: self.clients.register(cluster).facts(self.group.name, run))
        return [facts for facts in found.values() if not isinstance(facts, KafkaDrError)]

    def is_unsealed(self, state: RegisterState) -> bool:
        """Return whether no sealed evidence holds the last step of the run that wrote the record.

        A register that knows a seal made since then says so; else the evidence is asked. An adoption does not count:
        another adoption completes it, whatever its evidence says.

        :raises EvidenceChanged: its manifest contradicts itself
        """
        if state.verb == "adopt":
            return False
        journals = self.journals(state.run)
        if sealed_since(journals, state.at):
            return bool(unfiled.waiting_in(journals))
        last = "roll_back" if state.verb == "roll_back" else StepName.REPORT.value
        return not self.clients.evidence.is_sealed_with(state.group, state.run, last)

    def each_cluster(self, ask: Callable[[str], T]) -> dict[str, T | KafkaDrError]:
        """Ask every cluster of the group at the same time; an error replaces an answer."""
        asked = parallel.ask_each(ask, [name for name in self.declared.clusters if name not in self.known_silent])
        return {**asked, **self.known_silent}

    def guard_by(self, cluster: str, condition: Condition) -> RegisterGuard:
        """Return a guard that reads the register of one cluster."""
        name, first = self.group.name, (self.clients.executor.require_staying,)
        return RegisterGuard(
            name, f"the register of {cluster}", lambda: self.clients.register(cluster).read(name), condition, first
        )

    def guard_by_all(self, condition: Condition, *, first: tuple[Callable[[], None], ...] = ()) -> RegisterGuard:
        """Return a guard that reads the registers of all clusters; the one that decides has to answer.

        :param first: see :class:`RegisterGuard`
        """
        asked = (*first, self.clients.executor.require_staying)
        return RegisterGuard(self.group.name, "the register", self.read_register_state, condition, asked)

    def replaced(self, state: RegisterState, cluster: str) -> FlowSeed | None:
        """Return the seed of the take over that has replaced replication to a cluster; ``None`` if there was none.

        A take over journals its seed on both clusters, so either register knows, and one of them may be unusable.
        """
        if self.declared.existing_replication is None:
            return None
        known = cluster, state.epoch
        if known in self._replaced:
            return self._replaced[known]
        seed = self._seed_of_take_over(state, cluster)
        found = seed if seed is not None and seed.target == cluster else None
        # While it is taken over, its seed may not have been journaled yet.
        if state.phase is not Phase.ADOPTING:
            self._replaced[known] = found
        return found

    def _seed_of_take_over(self, state: RegisterState, cluster: str) -> FlowSeed | None:
        """Ask the cluster's own register first, and the other one if that does not know it.

        :raises KafkaDrError: none of them answers
        """
        errors: list[KafkaDrError] = []
        asked = [cluster, *(name for name in self.declared.clusters if name != cluster)]
        for name in asked:
            try:
                if seed := taken_over_by(self.clients.register(name).history(self.declared.name), state):
                    return seed
            except KafkaDrError as error:
                errors.append(error)
        if len(errors) == len(asked):
            raise errors[0]
        return None

    def kept_out(self, state: RegisterState, cluster: str) -> frozenset[Acl]:
        """Return the DENYs of replication that a take over has replaced; none where there was none."""
        return frozenset() if self.replaced(state, cluster) is None else plan.existing_denies(self.group, cluster)

    def required_denies(self, state: RegisterState, cluster: str) -> frozenset[Acl]:
        """Return the DENYs that a record requires of a cluster; it may have others."""
        return denies_of(self.group, state, cluster, replaced=self.replaced(state, cluster) is not None)

    def standby_fence_in_order(self, state: RegisterState, cluster: str) -> tuple[frozenset[Acl], ...]:
        """Return what a record requires of a cluster that is not active, in the order of adding.

        The probe's refusal proves what was added before it.
        """
        wanted = self.required_denies(state, cluster)
        _, probe, changes = plan.standby_in_order(self.group.on(cluster))
        return wanted - probe - changes, wanted & probe, wanted & changes

    def _required_now(self, state: RegisterState | None, cluster: str) -> frozenset[Acl] | None:
        replaced = state is not None and self.replaced(state, cluster) is not None
        return required_now(self.group, state, cluster, replaced=replaced)

    def acl_changes(self, cluster: str, guard: RegisterGuard, *, kept_by: str | None = None) -> AclChanges:
        """Return what changes the group's ACLs on a cluster.

        :param guard: asked right before each change
        :param kept_by: the cluster whose register decides and keeps what is added, where that of the changed cluster
            may be unusable; its own one where ``None``
        """

        return self.acl_changes_by(
            cluster, guard.require, required=lambda: self._required_now(guard.read(), cluster), kept_by=kept_by
        )

    def acl_changes_by(
        self,
        cluster: str,
        permission: Callable[[], RegisterState | None],
        *,
        required: Callable[[], frozenset[Acl] | None],
        kept_by: str | None = None,
    ) -> AclChanges:
        """Return the same; see :class:`AclChanges` for what it asks."""

        def permitted() -> RegisterState | None:
            # Whatever answers at an address is not touched before it is known to be the declared cluster.
            self.clients.require_declared(cluster)
            return permission()

        return AclChanges(
            self.group.name,
            self.access_rules(cluster),
            self.kept_acls(cluster, kept_by=kept_by),
            permission=permitted,
            required=required,
            clock=self.clock,
        )

    def kept_acls(self, cluster: str, *, kept_by: str | None = None) -> KeptAcls:
        """Return where is recorded what this project added to a cluster.

        :param kept_by: see :meth:`acl_changes`
        """
        name, own = self.declared.name, self.clients.register(cluster)
        if kept_by is None or kept_by == cluster:
            return KeptByItself(name, cluster, own)
        return KeptElsewhere(name, cluster, own, self.clients.register(kept_by))
