"""Each class of difference on real brokers, in both directions of a flow: shown, judged, fixed, gone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.clusters import AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.configuration import QuotaEntity, ScramUser
from kafka_dr.config_sync.items import AddAcl, CreateTopic, ItemKind, ItemVerdict, RemoveAcl
from kafka_dr.topology.group_keys import ConfigSyncSpec
from kafka_dr.watch.config_plan import watch_config
from support.waiting import eventually

if TYPE_CHECKING:
    from support.configured_group import ConfiguredGroup

pytestmark = pytest.mark.kafka
RATE, CONNECTIONS = "producer_byte_rate", "connection_creation_rate"
HOUR, DAY, WEEK = "3600000", "86400000", "604800000"


def test_each_class_of_difference_is_shown_judged_and_fixed(each: ConfiguredGroup) -> None:
    active, standby = each.admin(each.active), each.admin(each.standby)
    here, there = each.reached(each.active), each.reached(each.standby)
    name, user = each.name, QuotaEntity(user=f"{each.name}-app")
    for admin in (active, standby):
        for suffix in ("grows", "keyed", "sizes", "keeps", "cleans", "rolls", "stays", "inherits"):
            admin.create(f"{name}.{suffix}")
        admin.configure(f"{name}.keyed", cleanup_policy="compact")

    active.create(f"{name}.new", partitions=3, max_message_bytes="2000", retention_ms=DAY)
    standby.create(f"{name}.forgotten")
    active.grow(f"{name}.grows", 2)
    active.grow(f"{name}.keyed", 2)
    active.configure(f"{name}.sizes", max_message_bytes="3000")
    active.configure(f"{name}.keeps", retention_ms=DAY)
    active.configure(f"{name}.cleans", cleanup_policy="compact,delete")
    active.configure(f"{name}.rolls", segment_ms=DAY)
    standby.configure(f"{name}.stays", segment_ms=DAY)
    standby.configure(f"{name}.inherits", max_message_bytes="4000")
    wanted = {
        each.acl(AclOperation.READ, f"{name}-", resource=ResourceType.GROUP),
        each.acl(AclOperation.WRITE, f"{name}-", resource=ResourceType.TRANSACTIONAL_ID),
        each.acl(AclOperation.DESCRIBE, "*", pattern=PatternType.LITERAL),
        each.acl(
            AclOperation.IDEMPOTENT_WRITE, "kafka-cluster", resource=ResourceType.CLUSTER, pattern=PatternType.LITERAL
        ),
        each.acl(AclOperation.ALTER_CONFIGS),
        each.acl(AclOperation.DESCRIBE_CONFIGS, permission=AclPermission.DENY),
    }
    on_the_cluster: dict[str, Any] = {"resource": ResourceType.CLUSTER, "pattern": PatternType.LITERAL}
    beyond = {each.acl(AclOperation.ALTER_CONFIGS, "kafka-cluster", **on_the_cluster)}
    extra = {each.acl(AclOperation.ALTER), each.acl(AclOperation.DESCRIBE, permission=AclPermission.DENY)}
    here.acls.add(wanted | beyond)
    there.acls.add(extra)
    limited = QuotaEntity(user=user.user, client_id=""), QuotaEntity(client_id=name)
    everybody = (QuotaEntity(user=""), QuotaEntity(client_id=""), QuotaEntity(ip=""), QuotaEntity(ip="10.9.8.7"))
    shared = {(entity, CONNECTIONS if entity.ip is not None else RATE): 1e9 for entity in everybody}
    here.quotas.change({(user, RATE): 1e6, **{(entity, RATE): 2e6 for entity in limited}, **shared})
    there.quotas.change({(user, "consumer_byte_rate"): 3e6})
    active.create_user(f"{name}-app")

    with each.clients() as clients:
        plan = each.plan(clients, "first")
        rows = {(item.kind, item.subject, item.key): item for item in plan.items}
        assert len(rows) == len(plan.items)
        configs = {
            (subject.removeprefix(f"{name}."), key): row.verdict
            for (kind, subject, key), row in rows.items()
            if kind in (ItemKind.TOPIC, ItemKind.PARTITIONS, ItemKind.CONFIG)
        }
        assert configs == {
            ("new", ""): ItemVerdict.SAFE,
            ("forgotten", ""): ItemVerdict.NEVER,
            ("grows", ""): ItemVerdict.SAFE,
            ("keyed", ""): ItemVerdict.APPROVAL,
            ("sizes", "max.message.bytes"): ItemVerdict.SAFE,
            ("keeps", "retention.ms"): ItemVerdict.NEVER,
            ("cleans", "cleanup.policy"): ItemVerdict.NEVER,
            ("rolls", "segment.ms"): ItemVerdict.NEVER,
            ("stays", "segment.ms"): ItemVerdict.NOTE,
            ("inherits", "max.message.bytes"): ItemVerdict.SAFE,
        }
        inherits = rows[ItemKind.CONFIG, f"{name}.inherits", "max.message.bytes"]
        assert (inherits.active, inherits.standby) == ("1048588 (inherited: Kafka's default)", "4000")
        assert {i.change.acl for i in plan.of(ItemVerdict.SAFE) if isinstance(i.change, AddAcl)} == wanted
        assert {i.change.acl for i in plan.of(ItemVerdict.APPROVAL) if isinstance(i.change, AddAcl)} == beyond
        assert {i.change.acl for i in plan.of(ItemVerdict.APPROVAL) if isinstance(i.change, RemoveAcl)} == extra
        quotas = {(i.subject, i.key): i.verdict for i in plan.items if i.kind is ItemKind.QUOTA}
        assert quotas == {
            (f"user {name}-app", RATE): ItemVerdict.SAFE,
            (f"user {name}-app", "consumer_byte_rate"): ItemVerdict.APPROVAL,
            (f"user {name}-app, client id (default)", RATE): ItemVerdict.SAFE,
            (f"client id {name}", RATE): ItemVerdict.APPROVAL,
            ("user (default)", RATE): ItemVerdict.APPROVAL,
            ("client id (default)", RATE): ItemVerdict.APPROVAL,
            ("ip (default)", CONNECTIONS): ItemVerdict.APPROVAL,
            ("ip 10.9.8.7", CONNECTIONS): ItemVerdict.APPROVAL,
        }
        (user_row,) = (item for item in plan.items if item.kind is ItemKind.USER)
        assert (user_row.subject, user_row.key, user_row.blocks) == (f"{name}-app", "SCRAM-SHA-512", True)
        lost = {(access.deed, access.lost) for access in plan.access}
        assert lost == {("commit for", True), ("write transactions as", True)}
        assert plan.access_after == ()
        watched = watch_config(name, clients)
        assert watched.outcome == "failed"
        assert f"topic {name}.new is on {each.active} and missing on {each.standby}" in watched.summary

        safe, approved = each.apply_everything(clients, "first")
        assert (safe.outcome, approved.outcome) == ("done", "done")
        assert each.plan(clients, "second").changes == ()
        standby.create_user(f"{name}-app")
        # What deletes records is set by people, as the row says.
        kept = standby.effective([f"{name}.keeps", f"{name}.cleans", f"{name}.rolls"])
        assert kept[f"{name}.keeps"]["retention.ms"] == kept[f"{name}.rolls"]["segment.ms"] == WEEK
        assert kept[f"{name}.cleans"]["cleanup.policy"] == "delete"
        assert f"{name}.keeps retention.ms is {DAY}" in watch_config(name, clients).summary
        standby.configure(f"{name}.keeps", retention_ms=DAY)
        standby.configure(f"{name}.cleans", cleanup_policy="compact,delete")
        standby.configure(f"{name}.rolls", segment_ms=DAY)
        eventually(lambda: watch_config(name, clients).outcome == "ok")

    suffixes = ("new", "grows", "keyed", "sizes", "keeps", "cleans", "rolls", "inherits")
    topics = [f"{name}.{suffix}" for suffix in suffixes]
    assert active.partitions(topics) == standby.partitions(topics)
    assert active.effective(topics) == standby.effective(topics)
    assert f"{name}.forgotten" in there.topics.names()
    assert (wanted | beyond) <= there.acls.list()
    assert not extra & there.acls.list()
    assert {k: v for k, v in there.quotas.list().items() if k[0] == user} == {(user, RATE): 1e6}
    assert ScramUser(f"{name}-app", "SCRAM-SHA-512") in there.scram_users.list()
    assert shared.items() <= there.quotas.list().items()
    for each_side in (here, there):
        each_side.quotas.change({(limited[1], RATE): None, **dict.fromkeys(shared)})
        each_side.close()


def test_what_topics_inherit_is_recognised_by_where_it_comes_from(configured: ConfiguredGroup) -> None:
    east, west, name = configured.admin("east"), configured.admin("west"), configured.name
    old, new = f"{name}.sets-nothing", f"{name}.is-new"
    for topic in (old, new):
        east.create(topic)
    west.create(old, min_insync_replicas="2")
    eventually(lambda: east.shows([old]) and west.shows([old]))
    east.set_broker_default("log.cleaner.delete.retention.ms", HOUR)
    west.set_broker_default("message.max.bytes", "2000000", broker="1")
    try:
        with configured.clients() as clients:
            eventually(lambda: east.effective([old])[old]["delete.retention.ms"] == HOUR)
            eventually(lambda: west.effective([old])[old]["max.message.bytes"] == "2000000")
            rows = {(item.subject, item.key): item for item in configured.plan(clients, "inherited").items}
    finally:
        east.set_broker_default("log.cleaner.delete.retention.ms", None)
        west.set_broker_default("message.max.bytes", None, broker="1")
    seen = {key: (rows[old, key].active, rows[old, key].standby) for key in _INHERITED}
    assert seen == _INHERITED
    for key in ("delete.retention.ms", "max.message.bytes"):
        assert "the topic sets it on neither cluster: the brokers' settings differ" in rows[old, key].reason
    created = rows[new, ""].change
    assert isinstance(created, CreateTopic)
    assert dict(created.topic.configs) == {"delete.retention.ms": HOUR, "max.message.bytes": "1048588"}
    with configured.clients() as clients:
        eventually(lambda: east.effective([old])[old]["delete.retention.ms"] == DAY)
        eventually(lambda: west.effective([old])[old]["max.message.bytes"] == "1048588")
        configured.apply_everything(clients, "inherited-no-more")
        assert configured.plan(clients, "alike-again").changes == ()


_INHERITED = {
    "delete.retention.ms": (
        f"{HOUR} (inherited: dynamic cluster default)",
        f"{DAY} (inherited: Kafka's default)",
    ),
    "max.message.bytes": (
        "1048588 (inherited: Kafka's default)",
        "2000000 (inherited: dynamic broker setting)",
    ),
    # A cluster sets this one itself when its storage is formatted (KIP-966).
    "min.insync.replicas": ("1 (inherited: dynamic cluster default)", "2"),
}


_RANDOM = {
    "cleanup.policy": ["delete", "compact", "compact,delete"],
    "compression.type": ["producer", "zstd", "gzip"],
    "delete.retention.ms": ["1000", DAY],
    "max.message.bytes": ["100000", "1048588", "2000000"],
    "message.timestamp.type": ["CreateTime", "LogAppendTime"],
    "min.cleanable.dirty.ratio": ["0.1", "0.9"],
    "min.compaction.lag.ms": ["0", "1000"],
    "retention.bytes": ["-1", "1000000000"],
    "retention.ms": ["-1", DAY, WEEK],
    "segment.bytes": ["1048576", "10485760"],
    "segment.ms": [DAY, WEEK],
}


_NUMBERS = {"delete.retention.ms", "max.message.bytes", "min.cleanable.dirty.ratio", "min.compaction.lag.ms"} | {
    key for key in _RANDOM if key.startswith(("retention.", "segment."))
}
_CLASSES = ("must_match", "at_least", "may_differ", "site_specific")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))])
def test_random_clusters_are_by_an_independent_reader_what_their_classes_ask_for_once_applied(
    each: ConfiguredGroup, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = random.Random(f"{each.active} {seed}")  # noqa: S311
    active, standby = each.admin(each.active), each.admin(each.standby)
    classes = {key: dice.choice(_CLASSES) for key in _RANDOM}
    names = [f"{each.name}.random-{seed}-{number}" for number in range(12)]
    here, there = ({name: _drawn(dice) for name in names} for _side in range(2))
    old = names[1::2]
    for name in names:
        active.create(name, partitions=dice.randint(1, 3), **_underscored(here[name]))
    for name in old:
        standby.create(name, **_underscored(there[name]))
    eventually(lambda: active.shows(names) and standby.shows(old))
    before = standby.effective(old)
    lists = {kind: tuple(key for key, chosen in classes.items() if chosen == kind) for kind in _CLASSES}
    with each.clients() as clients, _random_rights(each, dice) as alike, monkeypatch.context() as moved:
        moved.setitem(each.changes, "config_sync", ConfigSyncSpec(apply_safe=True, **lists))
        with each.clients() as otherwise:
            each.apply_everything(otherwise, f"random-{seed}")
            assert each.plan(otherwise, f"after-{seed}").changes == ()
        assert active.partitions(names) == standby.partitions(names)
        found, wanted = standby.effective(names), active.effective(names)
        for name in names:
            for key, kind in classes.items():
                explicit = key in here[name], name in old and key in there[name]
                had = before[name][key] if name in old else None
                asked = _expected(key, kind, wanted[name][key], had, explicit)
                assert asked in (None, found[name][key]), (name, key, kind)
        assert alike()
        moved.undo()
        each.apply_everything(clients, f"as-usual-{seed}")
        assert each.plan(clients, f"after-as-usual-{seed}").changes == ()
        # What deletes records is left to people; the tests after this one expect them to have done it.
        for name in old:
            standby.configure(name, **_underscored({key: wanted[name][key] for key in _RANDOM}))
        eventually(lambda: all(standby.effective(old)[n][key] == wanted[n][key] for n in old for key in _RANDOM))


def _drawn(dice: random.Random) -> dict[str, str]:
    return {key: dice.choice(values) for key, values in _RANDOM.items() if dice.random() < 0.5}


def _underscored(configs: dict[str, str]) -> dict[str, Any]:
    return {key.replace(".", "_"): value for key, value in configs.items()}


def _expected(key: str, kind: str, wanted: str, had: str | None, explicit: tuple[bool, bool]) -> str | None:
    """Say what the standby has to have; ``None`` where that is its own matter.

    :param had: what the standby had, ``None`` where it had no such topic
    :param explicit: whether the active topic sets it, and whether the standby's did
    """
    if had is not None and _deletes(key, had, wanted):
        return had
    if kind == "site_specific" or (kind == "may_differ" and (explicit[1] or not explicit[0])):
        return had
    more = kind == "at_least" and key in _NUMBERS and had is not None and _amount(had) >= _amount(wanted)
    return had if more else wanted


def _deletes(key: str, had: str, wanted: str) -> bool:
    """Say whether the standby would delete records sooner with a value than with the one that it had."""
    if key == "cleanup.policy":
        return not set(wanted.split(",")) <= set(had.split(","))
    return key in _NUMBERS - {"max.message.bytes"} and _amount(wanted) < _amount(had)


def _amount(value: str) -> float:
    return float("inf") if value == "-1" else float(value)


@contextmanager
def _random_rights(each: ConfiguredGroup, dice: random.Random) -> Iterator[Callable[[], bool]]:
    """Give the application random rights and limits on both clusters; yields whether they are alike by now."""
    here, there = each.reached(each.active), each.reached(each.standby)
    user = f"{each.name}-app"
    entities = [QuotaEntity(user=user), QuotaEntity(user=user, client_id="batch")]
    limits = [(entity, key) for entity in entities for key in (RATE, "consumer_byte_rate", "request_percentage")]
    acls = [
        each.acl(operation, name, resource=resource, pattern=pattern, permission=permission)
        for resource, operations in _OPERATIONS.items()
        for name in (f"{each.name}{'.' if resource is ResourceType.TOPIC else '-'}{word}" for word in ("a", "b"))
        for operation in operations
        for pattern in PatternType
        for permission in AclPermission
    ]
    sides = {side: frozenset(acl for acl in acls if dice.random() < 0.2) for side in (here, there)}
    for side, given in sides.items():
        side.acls.add(given)
        side.quotas.change({limit: float(dice.randint(1, 9)) for limit in limits if dice.random() < 0.5})

    def alike() -> bool:
        listed = [side.acls.list() & frozenset(acls) for side in (here, there)]
        limited = [{k: v for k, v in side.quotas.list().items() if k[0] in entities} for side in (here, there)]
        return listed == [sides[here]] * 2 and limited[0] == limited[1]

    yield alike
    for side in sides:
        side.acls.remove(acls)
        side.quotas.change(dict.fromkeys(limits))
        side.close()


_OPERATIONS = {
    ResourceType.TOPIC: (
        *(AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE, AclOperation.ALTER),
        *(AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS, AclOperation.ALL),
    ),
    ResourceType.GROUP: (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE, AclOperation.ALL),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL),
}
