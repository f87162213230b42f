"""Each class of difference on real brokers, in both directions of a flow: shown, judged, mended, gone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.configuration import QuotaEntity, ScramUser
from kafka_dr.config_sync import Kind, Verdict
from kafka_dr.config_sync.items import AddAcl, RemoveAcl
from kafka_dr.failover.configuration import watch_config

if TYPE_CHECKING:
    from support.configured import Configured

pytestmark = pytest.mark.kafka
RATE = "producer_byte_rate"
DAY, WEEK = "86400000", "604800000"


def test_each_class_of_difference_is_shown_judged_and_mended(each: Configured) -> None:
    active, standby = each.admin(each.active), each.admin(each.standby)
    here, there = each.reached(each.active), each.reached(each.standby)
    name, user = each.name, QuotaEntity(user=f"{each.name}-app")
    for admin in (active, standby):
        for suffix in ("grows", "keyed", "sizes", "keeps", "cleans", "stays", "inherits"):
            admin.create(f"{name}.{suffix}")
        admin.configure(f"{name}.keyed", cleanup_policy="compact")

    active.create(f"{name}.new", partitions=3, max_message_bytes="2000", retention_ms=DAY)
    standby.create(f"{name}.forgotten")
    active.grow(f"{name}.grows", 2)
    active.grow(f"{name}.keyed", 2)
    active.configure(f"{name}.sizes", max_message_bytes="3000")
    active.configure(f"{name}.keeps", retention_ms=DAY)
    active.configure(f"{name}.cleans", cleanup_policy="compact,delete")
    standby.configure(f"{name}.stays", segment_ms=DAY)
    standby.configure(f"{name}.inherits", max_message_bytes="4000")
    wanted = {
        each.acl(AclOperation.READ, f"{name}-", resource=ResourceType.GROUP),
        each.acl(AclOperation.WRITE, f"{name}-", resource=ResourceType.TRANSACTIONAL_ID),
        each.acl(AclOperation.DESCRIBE, "*", pattern=PatternType.LITERAL),
        each.acl(
            AclOperation.IDEMPOTENT_WRITE, "kafka-cluster", resource=ResourceType.CLUSTER, pattern=PatternType.LITERAL
        ),
        each.acl(AclOperation.DELETE, permission=AclPermission.DENY),
    }
    extra = {each.acl(AclOperation.ALTER), each.acl(AclOperation.CREATE, permission=AclPermission.DENY)}
    here.acls.add(wanted)
    there.acls.add(extra)
    here.quotas.change({(user, RATE): 1e6, (QuotaEntity(client_id=name), RATE): 2e6})
    there.quotas.change({(user, "consumer_byte_rate"): 3e6})
    active.create_user(f"{name}-app")

    with each.world() as world:
        plan = each.plan(world, "first")
        rows = {(item.kind, item.subject, item.key): item for item in plan.items}
        assert len(rows) == len(plan.items)
        configs = {
            (subject.removeprefix(f"{name}."), key): row.verdict
            for (kind, subject, key), row in rows.items()
            if kind in (Kind.TOPIC, Kind.PARTITIONS, Kind.CONFIG)
        }
        assert configs == {
            ("new", ""): Verdict.SAFE,
            ("forgotten", ""): Verdict.NEVER,
            ("grows", ""): Verdict.SAFE,
            ("keyed", ""): Verdict.APPROVAL,
            ("sizes", "max.message.bytes"): Verdict.SAFE,
            ("keeps", "retention.ms"): Verdict.APPROVAL,
            ("cleans", "cleanup.policy"): Verdict.APPROVAL,
            ("stays", "segment.ms"): Verdict.NOTE,
            ("inherits", "max.message.bytes"): Verdict.SAFE,
        }
        inherits = rows[Kind.CONFIG, f"{name}.inherits", "max.message.bytes"]
        assert (inherits.active, inherits.standby) == ("1048588 (inherited: Kafka's default)", "4000")
        assert {i.change.acl for i in plan.of(Verdict.SAFE) if isinstance(i.change, AddAcl)} == wanted
        assert {i.change.acl for i in plan.of(Verdict.APPROVAL) if isinstance(i.change, RemoveAcl)} == extra
        quotas = {(i.subject, i.key): i.verdict for i in plan.items if i.kind is Kind.QUOTA}
        assert quotas == {
            (f"user {name}-app", RATE): Verdict.SAFE,
            (f"user {name}-app", "consumer_byte_rate"): Verdict.APPROVAL,
            (f"client id {name}", RATE): Verdict.APPROVAL,
        }
        (user_row,) = (item for item in plan.items if item.kind is Kind.USER)
        assert (user_row.subject, user_row.key, user_row.blocks) == (f"{name}-app", "SCRAM-SHA-512", True)
        lost = {(access.deed, access.lost) for access in plan.access}
        assert lost == {("commit for", True), ("write transactions as", True)}
        assert plan.access_after == ()
        watched = watch_config(name, world)
        assert watched.outcome == "failed"
        assert f"topic {name}.new is on {each.active} and missing on {each.standby}" in watched.summary

        safe, approved = each.apply_everything(world, "first")
        assert (safe.outcome, approved.outcome) == ("done", "done")
        assert each.plan(world, "second").changes == ()
        standby.create_user(f"{name}-app")
        assert watch_config(name, world).outcome == "ok"

    topics = [f"{name}.{suffix}" for suffix in ("new", "grows", "keyed", "sizes", "keeps", "cleans", "inherits")]
    assert active.partitions(topics) == standby.partitions(topics)
    assert active.effective(topics) == standby.effective(topics)
    assert f"{name}.forgotten" in there.topics.names()
    assert wanted <= there.acls.list()
    assert not extra & there.acls.list()
    assert {k: v for k, v in there.quotas.list().items() if k[0] == user} == {(user, RATE): 1e6}
    assert ScramUser(f"{name}-app", "SCRAM-SHA-512") in there.scram.list()
    for each_side in (here, there):
        each_side.quotas.change({(QuotaEntity(client_id=name), RATE): None})
        each_side.close()


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


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))])
def test_random_configurations_are_alike_by_an_independent_reader_once_applied(each: Configured, seed: int) -> None:
    dice = random.Random(f"{each.active} {seed}")  # noqa: S311
    active, standby = each.admin(each.active), each.admin(each.standby)
    names = [f"{each.name}.random-{seed}-{number}" for number in range(12)]
    for number, topic in enumerate(names):
        chosen = {key: dice.choice(values) for key, values in _RANDOM.items() if dice.random() < 0.5}
        active.create(topic, partitions=dice.randint(1, 3), **{k.replace(".", "_"): v for k, v in chosen.items()})
        if number % 2:
            standby.create(topic)
    with each.world() as world:
        each.apply_everything(world, f"random-{seed}")
        assert each.plan(world, f"after-{seed}").changes == ()
    assert active.partitions(names) == standby.partitions(names)
    wanted, found = active.effective(names), standby.effective(names)
    differing = {
        (topic, key): (value, found[topic][key])
        for topic, configs in wanted.items()
        for key, value in configs.items()
        if found[topic][key] != value
    }
    # The standby may keep more, and nothing else may differ: no topic here sets anything on the standby first.
    assert {key for _, key in differing} <= {"retention.bytes"}
    assert all(int(there) == -1 for _, there in differing.values())
