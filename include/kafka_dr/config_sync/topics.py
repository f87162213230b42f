"""How the standby's topics differ from the active cluster's, and what may be done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_dr.clusters.configuration import ConfigValue, NewTopic, Origin
from kafka_dr.config_sync.deletion import CLEANUP, by_hand, deletes
from kafka_dr.config_sync.items import AddPartitions, Change, CreateTopic, Item, ItemKind, ItemVerdict, SetConfig
from kafka_dr.config_sync.policy import REPLICATION_FACTOR, KeyClass, Policy, rank
from kafka_dr.config_sync.snapshot import TOPICS, Snapshot, TopicConfig
from kafka_dr.counted import counted

_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class TopicRules:
    """What the comparison needs to know in addition to the two snapshots.

    :param replication_factor: of topics that are created on the standby, at most
    :param keyed: whether the topology says that a topic's partitions are chosen by key
    :param written: whether anybody but replication may write to a topic on the standby now
    """

    policy: Policy
    replication_factor: int
    keyed: Callable[[str], bool]
    written: Callable[[str], bool]


def compare_topics(active: Snapshot, standby: Snapshot, rules: TopicRules) -> Iterator[Item]:
    """Yield each difference between the topics of two clusters, by topic and key."""
    if TOPICS in active.unknown or TOPICS in standby.unknown:
        return  # nothing is missing where nothing could be seen
    unreadable = {**active.unreadable_topics(), **standby.unreadable_topics()}
    for name, reason in sorted(unreadable.items()):
        yield Item(
            ItemKind.TOPIC, name, "", None, None, ItemVerdict.UNKNOWN, f"could not be read: {reason}", blocks=True
        )
    unclassed: dict[str, str] = {}
    for name in sorted((active.topics.keys() | standby.topics.keys()) - unreadable.keys()):
        on_active, on_standby = active.topics.get(name), standby.topics.get(name)
        if on_active is None:
            reason = "exists on the standby only: it is never deleted; see whether it was forgotten"
            yield Item(ItemKind.TOPIC, name, "", None, "exists", ItemVerdict.NEVER, reason)
        elif on_standby is None:
            yield _missing(on_active, standby, rules)
        else:
            yield from _compared(on_active, on_standby, standby, rules)
        for topic in (on_active, on_standby):
            unclassed |= dict.fromkeys(_unclassed(topic, rules.policy), name)
    yield from _findings(unclassed)


def _unclassed(topic: TopicConfig | None, policy: Policy) -> list[str]:
    return [key for key in topic.configs if policy.class_of(key) is KeyClass.UNKNOWN] if topic else []


def _findings(unclassed: dict[str, str]) -> Iterator[Item]:
    for key, topic in sorted(unclassed.items()):
        reason = "this key is in no class: put it into a list of config_sync in the topology"
        yield Item(ItemKind.CONFIG, "every topic", key, f"known, as {topic} shows", None, ItemVerdict.NEVER, reason)


def _missing(on_active: TopicConfig, standby: Snapshot, rules: TopicRules) -> Item:
    copies = max(1, min(rules.replication_factor, standby.brokers))
    wanted = NewTopic(
        on_active.name, on_active.layout.partitions, copies, tuple(_pinned(on_active, standby, copies, rules.policy))
    )
    fewer = f", with {copies} copies for the active cluster's {on_active.layout.replication_factor}"
    reason = "the standby has no such topic" + (fewer if copies < on_active.layout.replication_factor else "")
    shown = counted(on_active.layout.partitions, "partition")
    return Item(
        ItemKind.TOPIC,
        on_active.name,
        "",
        shown,
        None,
        ItemVerdict.SAFE,
        reason,
        blocks=True,
        change=CreateTopic(wanted),
    )


def _pinned(on_active: TopicConfig, standby: Snapshot, copies: int, policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield what a new topic has to set, so that it differs in nothing from the active one when it is there."""
    for key, value in sorted(on_active.configs.items()):
        inherited = standby.inherited.get(key)
        kind = policy.class_of(key)
        if value.value is None or kind in (KeyClass.SITE_SPECIFIC, KeyClass.UNKNOWN):
            continue
        if standby.inherited and inherited is None:
            continue  # the standby's brokers do not know this key
        wanted = _capped(key, value.value, copies)
        alike = inherited is not None and inherited.value == wanted
        follows = kind is not KeyClass.MAY_DIFFER and inherited is not None and inherited.value is not None
        if value.origin.explicit or (follows and not alike):
            yield key, wanted


def _compared(on_active: TopicConfig, on_standby: TopicConfig, standby: Snapshot, rules: TopicRules) -> Iterator[Item]:
    yield from _partitions(on_active, on_standby, rules)
    yield from _copies(on_active, on_standby, standby, rules.policy)
    for key in sorted(on_active.configs.keys() | on_standby.configs.keys()):
        active_value, standby_value = on_active.configs.get(key), on_standby.configs.get(key)
        if (active_value and active_value.value) != (standby_value and standby_value.value) or _refuses_writes(
            on_standby, key, rules.policy
        ):
            item = _config(on_standby, key, active_value, standby_value, rules.policy)
            if item is not None:
                yield item


def _partitions(on_active: TopicConfig, on_standby: TopicConfig, rules: TopicRules) -> Iterator[Item]:
    wanted, found = on_active.layout.partitions, on_standby.layout.partitions
    if wanted == found:
        return
    change: Change | None = AddPartitions(on_active.name, wanted)
    verdict, reason = _adding(on_active, rules)
    if found > wanted:
        verdict, change = ItemVerdict.NEVER, None
        reason = "partitions are never taken away: add them on the active cluster, or make the copy again"
    yield Item(
        ItemKind.PARTITIONS, on_active.name, "", str(wanted), str(found), verdict, reason, blocks=True, change=change
    )


def _adding(on_active: TopicConfig, rules: TopicRules) -> tuple[ItemVerdict, str]:
    cleanup = on_active.configs.get(CLEANUP)
    if rules.keyed(on_active.name):
        return ItemVerdict.APPROVAL, "the topology says that its partitions are chosen by key, and keys would move"
    if cleanup is not None and "compact" in (cleanup.value or ""):
        return ItemVerdict.APPROVAL, "it is compacted, so its partitions are chosen by key, and keys would move"
    if rules.written(on_active.name):
        return (
            ItemVerdict.APPROVAL,
            "somebody else than replication may write to it on the standby, and keys would move",
        )
    return ItemVerdict.SAFE, "only replication writes to it on the standby, and names the partition of each record"


def _copies(on_active: TopicConfig, on_standby: TopicConfig, standby: Snapshot, policy: Policy) -> Iterator[Item]:
    wanted, found = on_active.layout.replication_factor, on_standby.layout.replication_factor
    kind = policy.class_of(REPLICATION_FACTOR)
    if wanted == found or kind is KeyClass.SITE_SPECIFIC:
        return
    strict = kind is KeyClass.MUST_MATCH
    reason = f"the standby has {standby.brokers} brokers; this is legal, and moving copies is done by hand"
    if strict:
        reason = "the topology wants the same number of copies: reassign its partitions on the standby"
    elif found > wanted:
        reason = "the standby keeps more copies"
    verdict = ItemVerdict.NEVER if strict else ItemVerdict.NOTE
    yield Item(
        ItemKind.CONFIG, on_active.name, REPLICATION_FACTOR, str(wanted), str(found), verdict, reason, blocks=strict
    )


def _config(
    on_standby: TopicConfig,
    key: str,
    active_value: ConfigValue | None,
    standby_value: ConfigValue | None,
    policy: Policy,
) -> Item | None:
    kind = policy.class_of(key)
    if kind is KeyClass.SITE_SPECIFIC:
        return None
    strict = kind in (KeyClass.MUST_MATCH, KeyClass.UNKNOWN)
    shown = (None if active_value is None else str(active_value), None if standby_value is None else str(standby_value))
    if active_value is None or standby_value is None or active_value.value is None or standby_value.value is None:
        where = "active cluster" if active_value is None or active_value.value is None else "standby"
        counts = strict and active_value is not None and active_value.origin.explicit
        verdict = ItemVerdict.NEVER if counts else ItemVerdict.NOTE
        return Item(
            ItemKind.CONFIG,
            on_standby.name,
            key,
            *shown,
            verdict,
            f"the brokers of the {where} hide the value of this key",
            blocks=counts,
        )
    if kind is KeyClass.UNKNOWN:
        reason = "this key is in no class: put it into a list of config_sync in the topology"
        return Item(ItemKind.CONFIG, on_standby.name, key, *shown, ItemVerdict.NEVER, reason, blocks=True)
    if _refuses_writes(on_standby, key, policy):
        copies = str(on_standby.layout.replication_factor)
        reason = f"it demands more copies in sync than the {copies} that it has, so it refuses every write"
        fix = SetConfig(on_standby.name, key, copies)
        return Item(ItemKind.CONFIG, on_standby.name, key, *shown, ItemVerdict.SAFE, reason, blocks=True, change=fix)
    verdict, reason, value = _judged(on_standby, key, active_value, standby_value, kind)
    change = None if verdict in (ItemVerdict.NOTE, ItemVerdict.NEVER) else SetConfig(on_standby.name, key, value)
    return Item(ItemKind.CONFIG, on_standby.name, key, *shown, verdict, reason, blocks=strict, change=change)


def _judged(
    on_standby: TopicConfig, key: str, active_value: ConfigValue, standby_value: ConfigValue, kind: KeyClass
) -> tuple[ItemVerdict, str, str]:
    """Return what may be done about a value that differs, why, and to which value it would be set."""
    wanted = active_value.value or ""
    if kind is KeyClass.AT_LEAST:
        wanted = _capped(key, wanted, on_standby.layout.replication_factor)
    verdict, reason = _by_class(key, active_value, standby_value, kind, wanted)
    # The topology says whether values have to be alike, never that records may be deleted. One approval is not enough
    # for that, so no program does it.
    if verdict is ItemVerdict.SAFE and (loss := deletes(key, standby_value.value, wanted)):
        verdict, reason = ItemVerdict.NEVER, f"{reason}; {loss}. {by_hand(on_standby.name, key, wanted, kind)}"
    return verdict, reason + _because(active_value, standby_value, kind), wanted


def _by_class(
    key: str, active_value: ConfigValue, standby_value: ConfigValue, kind: KeyClass, wanted: str
) -> tuple[ItemVerdict, str]:
    if kind is KeyClass.MAY_DIFFER:
        if active_value.origin.explicit and not standby_value.origin.explicit:
            return ItemVerdict.SAFE, "the active cluster sets it, the standby does not"
        return ItemVerdict.NOTE, "the standby may differ here"
    if kind is KeyClass.AT_LEAST:
        have, want = rank(key, standby_value.value), rank(key, wanted)
        if wanted == standby_value.value:
            return ItemVerdict.NOTE, "as many as the standby's copies allow"
        if have is not None and want is not None and want < have:
            return ItemVerdict.NOTE, "the standby has more, which is allowed"
        return ItemVerdict.SAFE, "the standby must have at least as much"
    return ItemVerdict.SAFE, "must match"


def _refuses_writes(on_standby: TopicConfig, key: str, policy: Policy) -> bool:
    """Return whether a topic demands more in-sync copies than it has: what the active cluster can, it could not."""
    if key != _MIN_ISR or policy.class_of(key) not in (KeyClass.AT_LEAST, KeyClass.MAY_DIFFER):
        return False
    demanded = rank(key, on_standby.configs[key].value if key in on_standby.configs else None)
    return demanded is not None and demanded > max(1, on_standby.layout.replication_factor)


def _capped(key: str, value: str, copies: int) -> str:
    """Return a minimum of in-sync copies that a topic with so many copies can have: more would refuse every write."""
    return str(min(int(value), copies)) if key == _MIN_ISR and value.isdigit() else value


def _because(active_value: ConfigValue, standby_value: ConfigValue, kind: KeyClass) -> str:
    """Say where inherited values come from: nobody changed the topic, and yet it differs."""
    if active_value.origin is Origin.DEFAULT and standby_value.origin is Origin.DEFAULT:
        return "; nobody set it: Kafka's own default differs, so the brokers are of different versions"
    if not active_value.origin.explicit and not standby_value.origin.explicit:
        return "; the topic sets it on neither cluster: the brokers' settings differ"
    if not active_value.origin.explicit and kind is not KeyClass.MAY_DIFFER:
        return "; the active topic inherits it, the standby's sets it"
    return ""
