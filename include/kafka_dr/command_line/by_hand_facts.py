"""What has to be known to print commands for a group: from the clusters that answer, each with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import found_in, of_either_kind
from kafka_dr.health.registers import read_registers
from kafka_dr.offsets.translate.answers import to_commit, translations_from_json
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.replication.replicator import FlowsByHand
from kafka_dr.routing import Router
from kafka_dr.runs import background
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.model import ProtectionGroup

_SECONDS = 20.0
#: Kafka's default for ``max.message.bytes``.
_USUAL_LIMIT = 1048588

Offsets = Mapping[TopicPartition, int]
T = TypeVar("T")


class SampleTopic(NamedTuple):
    """A topic of the group by which a fence is checked, and its ``max.message.bytes``."""

    name: str
    limit: int = _USUAL_LIMIT


@dataclass(frozen=True, slots=True)
class FoundOn:
    """What one cluster answered.

    :param added: the DENYs that this project added
    :param foreign: DENYs of a fence that somebody else added: they are never lifted, and not recorded
    :param groups: the topics that each consumer group has offsets in, or in copies of them
    :param translated: offsets for the target that the run has journaled, by consumer group
    """

    added: AddedAcls
    foreign: frozenset[Acl] = frozenset()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    translated: Mapping[str, Offsets] = field(default_factory=dict)
    sample: SampleTopic | None = None


@dataclass(frozen=True, slots=True)
class ByHandFacts:
    """Everything that the commands are made of.

    :param state: the newest record of the registers that answer
    :param servers: the bootstrap servers of each cluster
    :param router: the group's
    :param route_servers: what a route hands to applications, by cluster
    :param flows: commands for the flows to each cluster
    :param kept_in: where the access rules of a cluster are kept; clusters whose brokers keep them are missing
    :param found: what each cluster answered; clusters that did not answer are missing
    :param unknown: what could not be found out, and what others have changed, in sentences
    """

    group: ProtectionGroup
    state: RegisterState
    servers: Mapping[str, str]
    router: Router
    route_servers: Mapping[str, str]
    flows: Mapping[str, FlowsByHand]
    found: Mapping[str, FoundOn] = field(default_factory=dict)
    kept_in: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    @property
    def groups(self) -> dict[str, frozenset[str]]:
        """The topics that each consumer group has offsets in, on any cluster."""
        topics: dict[str, frozenset[str]] = {}
        for answer in self.found.values():
            for consumer, read in answer.groups.items():
                topics[consumer] = topics.get(consumer, frozenset()) | read
        return _typed(topics)

    @property
    def translated(self) -> Mapping[str, Offsets]:
        """Offsets for the target that the run has journaled, by consumer group."""
        return _typed(next((answer.translated for answer in self.found.values() if answer.translated), {}))

    def sample(self, cluster: str) -> SampleTopic:
        """Return the topic by which a fence of a cluster is checked."""
        answer = self.found.get(cluster)
        return answer.sample if answer and answer.sample else SampleTopic(self.group.canary_topic)

    def added(self, cluster: str) -> AddedAcls:
        """Return the DENYs of this project on a cluster; of one that did not answer, all that it can have."""
        if cluster in self.found:
            return self.found[cluster].added
        return AddedAcls(of_either_kind(plan.standby(self.group.on(cluster))) | plan.every(self.group, cluster))

    def foreign(self, cluster: str) -> frozenset[Acl]:
        """Return the DENYs of others on a cluster."""
        return self.found[cluster].foreign if cluster in self.found else frozenset()


def _typed(by_name: Mapping[str, T]) -> dict[str, T]:
    """Leave out names with control characters: a line break would become a line of a file, or of the shell."""
    return {name: value for name, value in by_name.items() if name.isprintable()}


def gather(group: str, clients: Clients) -> ByHandFacts:
    """Ask the clusters.

    :raises NeedsPerson: no register that answers has a record, or the records contradict each other
    """
    context = GroupContext(group, clients)
    registers = read_registers(context)
    state = registers.newest
    if state is None:
        raise NeedsPerson(f"no register that answers has a record of {group}: without it no command is safe")
    questions: dict[str, Callable[[], Any]] = {
        name: partial(_found_on, context, name, state) for name in registers.states
    }
    answers = background.answers_within(questions, seconds=_SECONDS)
    found = {name: answer for name, answer in answers.items() if isinstance(answer, FoundOn)}
    names = context.group.clusters
    return ByHandFacts(
        context.group,
        state,
        {name: clients.cluster(name, "operator").settings.bootstrap_servers for name in names},
        clients.router(context.group),
        {name: clients.topology.cluster(name).route_bootstrap_servers for name in names},
        {name: clients.replication.by_hand(name) for name in names},
        found,
        {name: spec.where for name in names if not (spec := clients.topology.cluster(name).access_rules).is_direct},
        (*_not_known(context, answers), *_of_others(found), *_left_out(found)),
    )


def _not_known(context: GroupContext, answers: Mapping[str, Any]) -> list[str]:
    said = []
    for name in context.group.clusters:
        answer = answers.get(name)
        if isinstance(answer, FoundOn):
            continue
        why = f": {answer}" if isinstance(answer, KafkaDrError) else ""
        said.append(
            f"{name} does not answer{why}. Leave out its steps. Its consumer groups are not known: add every group "
            "that is missing to the options file of the step that sets offsets, as a line --group=NAME"
        )
    return said


def _of_others(found: Mapping[str, FoundOn]) -> list[str]:
    return [
        f"{len(answer.foreign)} DENYs of the group on {name} were added by others, such as {min(answer.foreign)}. "
        "No command here lifts them: while they are there, applications cannot work"
        for name, answer in found.items()
        if answer.foreign
    ]


def _left_out(found: Mapping[str, FoundOn]) -> list[str]:
    names = {name for answer in found.values() for name in (*answer.groups, *answer.translated)}
    left_out = sorted(name for name in names if not name.isprintable())
    return [f"no command sets the offsets of {name!r}: its name has control characters" for name in left_out]


def _found_on(context: GroupContext, cluster: str, state: RegisterState) -> FoundOn:
    group, register = context.group, context.clients.register(cluster)
    added = register.added_acls(group.name, cluster)
    denies = found_in(context.rules_in_force(cluster), plan.every(group, cluster))
    return FoundOn(
        added,
        denies - added.current - added.remembered(state.epoch),
        _topics_of_groups(context, cluster),
        _translated(register.facts(group.name, state.run), state),
        _sample(context, cluster),
    )


def _translated(facts: Mapping[str, Any], state: RegisterState) -> Mapping[str, Offsets]:
    """Return the offsets that the run which switches the group has translated; those of an ended run are of the past.

    :param facts: what the run of the record has journaled
    """
    switches = state.phase is Phase.SWITCHING
    return to_commit(translations_from_json(facts.get("translations", {}))) if switches else {}


def _sample(context: GroupContext, cluster: str) -> SampleTopic | None:
    topics = context.operator(cluster).topics
    for name in sorted(filter(context.group.owns_topic, topics.names())):
        limit = topics.configs([name])[name].get("max.message.bytes", _USUAL_LIMIT)
        return SampleTopic(name, int(limit))
    return None


def _topics_of_groups(context: GroupContext, cluster: str) -> dict[str, frozenset[str]]:
    offsets = context.operator(cluster).groups.offsets(context.moved_groups(cluster))
    return {name: frozenset(_originals(context.group, cluster, found)) for name, found in offsets.items()}


def _originals(group: ProtectionGroup, cluster: str, found: Iterable[TopicPartition]) -> Iterator[str]:
    """Yield the group's topics among these, and the originals of its copies."""
    for p in found:
        if group.owns_topic(p.topic):
            yield p.topic
        elif (original := group.original_of(p.topic, cluster)) is not None:
            yield original
