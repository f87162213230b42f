"""Retention hold: on a cluster that may hold stranded records nothing expires and nothing is compacted any more.

A fence refuses writes, but brokers still delete what is older than ``retention.ms``, and compact. What was only
there would be gone before it is listed and kept. So retention and compaction of the group's topics are switched off
with the first fence of a returned cluster, and given back when a failback has kept the list and ends, or when the
cluster leaves the group. What the topics themselves had set is journaled before each change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from kafka_dr import parallel
from kafka_dr.causes import cause
from kafka_dr.clusters.configuration import ConfigValue
from kafka_dr.codec import Rows, StoredDocument, TopicIds, stored
from kafka_dr.errors import KafkaDrError, NeedsPerson, TryAgain
from kafka_dr.register import RegisterState
from kafka_dr.register.port import History
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import RegisterGuard

#: The fact, followed by a dot and the cluster.
RETENTION_HOLD = "retention_hold"
#: The largest number that Kafka's settings of type long can have: no record is ever as old.
_NEVER_MS = str(2**63 - 1)
_OF_POLICY: Mapping[str, Mapping[str, str]] = {
    "delete": {"retention.ms": "-1", "retention.bytes": "-1"},
    # The log cleaner leaves every segment alone whose newest record is younger (LogCleanerManager.cleanableOffsets). A
    # broker refuses a maximum below the minimum.
    "compact": {"min.compaction.lag.ms": _NEVER_MS, "max.compaction.lag.ms": _NEVER_MS},
}
#: What keeps every record of a topic, whatever its policy.
NOTHING_EXPIRES: Mapping[str, str] = {key: value for held in _OF_POLICY.values() for key, value in held.items()}
#: Of a topic: what it set itself, by key; ``None`` where it inherited.
Before: TypeAlias = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class RetentionHold(StoredDocument):
    """What was switched off on one cluster.

    :param at: when, aware
    :param topic_ids: of the topics: one that is created again since is not given anything back
    :param before: by topic
    :param given_back: when, aware; ``None``: it is not yet
    """

    cluster: str
    at: datetime
    topic_ids: TopicIds = field(default_factory=dict)
    before: Annotated[Mapping[str, Before], Rows("topic", "settings")] = field(default_factory=dict)
    given_back: datetime | None = field(default=None, metadata=stored(omitted=True))

    def with_more(self, more: RetentionHold) -> RetentionHold:
        """Return both; what was journaled first of a topic is what the topic had."""
        known = {name: keys for name, keys in self.before.items() if self.topic_ids[name] == more.topic_ids.get(name)}
        before = {name: {**keys, **known.get(name, {})} for name, keys in more.before.items()}
        kept = {name: keys for name, keys in self.before.items() if name not in before}
        ids = {**self.topic_ids, **more.topic_ids}
        return replace(more, topic_ids={name: ids[name] for name in {**kept, **before}}, before={**kept, **before})


def to_hold(configs: Mapping[str, ConfigValue]) -> dict[str, str]:
    """Return what has to be set on a topic so that none of its records expires or is compacted away. Pure.

    :param configs: the topic's effective values, by key
    """
    policies = (configs["cleanup.policy"].value or "").split(",") if "cleanup.policy" in configs else ()
    wanted = {key: value for policy in policies for key, value in _OF_POLICY.get(policy.strip(), {}).items()}
    return {key: value for key, value in wanted.items() if key not in configs or configs[key].value != value}


def to_give_back(configs: Mapping[str, ConfigValue], before: Before) -> dict[str, str | None]:
    """Return what has to be set on a topic so that it is as before; what somebody has changed since stays. Pure."""
    return {
        key: value for key, value in before.items() if key in configs and configs[key].value == NOTHING_EXPIRES.get(key)
    }


def open_holds(histories: Mapping[str, History], cluster: str) -> RetentionHold | None:
    """Return what is held on a cluster and not given back, by several registers together; ``None`` if nothing is. Pure.

    :param histories: by cluster, everything that its register has of the group
    :raises NeedsPerson: a fact cannot be read
    """
    holds = [
        _read(fact)
        for history in histories.values()
        for facts in history.values()
        for name, fact in facts.items()
        if name == _fact_of(cluster)
    ]
    given_back = max((hold.given_back for hold in holds if hold.given_back), default=None)
    found: RetentionHold | None = None
    for hold in sorted(holds, key=lambda each: each.at):
        if hold.given_back is None and (given_back is None or hold.at > given_back):
            found = hold if found is None else found.with_more(hold)
    return found


def hold_retention(context: GroupContext, state: RegisterState, cluster: str, guard: RegisterGuard) -> None:
    """Switch retention and compaction of the group's topics off on a cluster, where they are on.

    :param state: the record; the registers of its active cluster and of the cluster itself get the journal
    :param guard: asked right before each change
    :raises KafkaDrError: it was not possible for every topic
    """
    configs = context.operator(cluster).configs
    described = configs.describe(context.topic_names(cluster))
    wanted = {name: changes for name, values in described.configs.items() if (changes := to_hold(values))}
    if wanted:
        ids = context.topic_ids(cluster)
        # What was deleted since the look has nothing left to keep.
        wanted = {name: keys for name, keys in wanted.items() if name in ids}
        before = {name: {key: _own(described.configs[name], key) for key in keys} for name, keys in wanted.items()}
        found = RetentionHold(cluster, context.clock.now(), {name: ids[name] for name in wanted}, before)
        guard.require()
        _journal(context, state, found)
        guard.require()
        _raise_first({**described.errors, **configs.set(wanted)}, cluster, "switched off")
    _raise_first(described.errors, cluster, "looked at")


def give_retention_back(context: GroupContext, cluster: str, active: str, guard: RegisterGuard) -> tuple[str, ...]:
    """Give the topics of a cluster back what :func:`hold_retention` switched off; return the topics that were changed.

    :param active: see :func:`hold_retention`
    :param guard: asked right before each change
    :raises KafkaDrError: it was not possible for every topic
    """
    name = context.declared.name
    histories = parallel.ask_each(lambda each: context.clients.register(each).history(name), (active, cluster))
    answered = {each: found for each, found in histories.items() if not isinstance(found, KafkaDrError)}
    if not answered:
        raise next(found for found in histories.values() if isinstance(found, KafkaDrError))
    held = open_holds(answered, cluster)
    changed = () if held is None else _given_back(context, held, guard)
    at = context.clock.now()
    for where, history in answered.items():
        for run, facts in history.items():
            fact = facts.get(_fact_of(cluster))
            if fact and _read(fact).given_back is None:
                context.clients.register(where).change_fact(name, run, _fact_of(cluster), _at(at))
    return changed


def _given_back(context: GroupContext, held: RetentionHold, guard: RegisterGuard) -> tuple[str, ...]:
    ids, configs = context.topic_ids(held.cluster), context.operator(held.cluster).configs
    same = [each for each in held.before if ids.get(each) == held.topic_ids[each]]
    described = configs.describe(same)
    wanted = {each: to_give_back(values, held.before[each]) for each, values in described.configs.items()}
    wanted = {each: values for each, values in wanted.items() if values}
    guard.require()
    _raise_first({**described.errors, **configs.set(wanted)}, held.cluster, "given back")
    return tuple(sorted(wanted))


def _fact_of(cluster: str) -> str:
    return f"{RETENTION_HOLD}.{cluster}"


def _read(fact: Mapping[str, Any]) -> RetentionHold:
    try:
        return RetentionHold.from_json(fact)
    except ValueError as error:
        raise NeedsPerson(
            f"the register's note of what was switched off so that nothing expires cannot be read: {cause(error)}. "
            "Compare retention and compaction of the topics with those of the active cluster, and set them by hand"
        ) from error


def _own(configs: Mapping[str, ConfigValue], key: str) -> str | None:
    return configs[key].value if key in configs and configs[key].origin.explicit else None


def _at(at: datetime) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda fact: replace(_read(fact), given_back=at).to_json()


def _journal(context: GroupContext, state: RegisterState, found: RetentionHold) -> None:
    """Journal a hold for the newest run, in each of two registers that takes it; one is enough.

    :raises KafkaDrError: none takes it
    """

    def change(fact: Mapping[str, Any]) -> Mapping[str, Any]:
        known = _read(fact) if fact else None
        return (known.with_more(found) if known is not None and known.given_back is None else found).to_json()

    errors, clusters = [], (state.active, found.cluster)
    for cluster in clusters:
        try:
            context.clients.register(cluster).change_fact(state.group, state.run, _fact_of(found.cluster), change)
        except KafkaDrError as error:
            errors.append(error)
    if len(errors) == len(clusters):
        raise errors[0]


def _raise_first(errors: Mapping[str, KafkaDrError], cluster: str, done: str) -> None:
    if errors:
        topic, error = min(errors.items())
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise TryAgain(f"retention of {topic}{more} on {cluster} could not be {done}: {error}")
