"""What happens to the standby while an apply is under way: a person changes it, or it does not take what must be first.

The observer of the operator's requests is where a test does something at the right moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kafka_dr.checks.config_compare import standby_configured
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, ResourceType
from kafka_dr.config_sync.items import ItemKind
from kafka_dr.config_sync.lock import FACTS
from kafka_dr.register.state import roles_in
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.run import Run
from kafka_dr.watch.apply_config import apply_config
from kafka_dr.watch.config_plan import watch_config
from support import mirrormaker
from support.manual_clock import ManualClock

if TYPE_CHECKING:
    from kafka_dr.clusters import KafkaCluster
    from kafka_dr.runs.clients import Clients
    from support.configured_group import ConfiguredGroup

pytestmark = pytest.mark.kafka


@pytest.fixture
def before(clients: Clients) -> Iterator[Callable[[str, Callable[[], None]], None]]:
    """Return what does something once, right before the standby is asked for the first time to do something."""
    standby = clients.cluster("west", "operator")

    def arrange(doing: str, act: Callable[[], None]) -> None:
        left = [act]

        def look(said: str) -> None:
            if said == doing and left:
                left.pop()()

        standby.observe(look)

    yield arrange
    standby.observe(lambda doing: None)


@pytest.fixture
def west(configured: ConfiguredGroup) -> Iterator[KafkaCluster]:
    """The standby as the lab's administrator sees it."""
    with closing(configured.reached("west")) as reached:
        yield reached


def test_what_a_person_changes_between_two_batches_is_left_alone_and_named(
    configured: ConfiguredGroup, clients: Clients, before: Callable[[str, Callable[[], None]], None]
) -> None:
    east, admin, name = configured.admin("east"), configured.admin("west"), configured.name
    other = f"{name}.beside"
    for reached in (east, admin):
        reached.create(other)
    east.create(f"{name}.comes-first")
    for topic in (configured.topic, other):
        east.configure(topic, max_message_bytes="12000")
    configured.plan(clients, "overtaken-by-hand")

    before("create topics", lambda: admin.configure(configured.topic, max_message_bytes="777"))
    with pytest.raises(StepFailed, match=f"1 change was not made: {configured.topic}: became stale") as failed:
        apply_config(name, clients, "overtaken-by-hand", approved=False)

    assert "777 on the standby" in failed.value.record.detail
    found = admin.effective([configured.topic, other])
    assert {topic: configs["max.message.bytes"] for topic, configs in found.items()} == {
        configured.topic: "777",
        other: "12000",
    }
    configured.apply_everything(clients, "by-hand-no-more")
    assert configured.plan(clients, "by-hand-none-left").changes == ()


def test_an_apply_that_lost_the_lock_between_two_batches_changes_nothing_more(
    configured: ConfiguredGroup, clients: Clients, before: Callable[[str, Callable[[], None]], None]
) -> None:
    east, west, name = configured.admin("east"), configured.admin("west"), configured.name
    east.create(f"{name}.before-the-loss")
    east.configure(configured.topic, max_message_bytes="12500")
    configured.plan(clients, "held-up")

    def take_over() -> None:
        with clients.cluster("east", "operator").writing.transactions(f"kafka-dr-config-{name}"):
            pass

    before("create topics", take_over)
    with pytest.raises(StepFailed, match="another apply took over the configuration"):
        apply_config(name, clients, "held-up", approved=False)
    assert west.effective([configured.topic])[configured.topic]["max.message.bytes"] != "12500"
    clients.register("east").write_fact(name, FACTS, "lock", {})
    configured.apply_everything(clients, "not-held-up")


@pytest.fixture
def rights(configured: ConfiguredGroup, west: KafkaCluster) -> Iterator[tuple[Acl, Acl]]:
    """A DENY and an ALLOW that the active cluster has and the standby lacks."""
    deny = configured.acl(AclOperation.DESCRIBE_CONFIGS, permission=AclPermission.DENY)
    allow = configured.acl(AclOperation.DESCRIBE, f"{configured.name}-", resource=ResourceType.GROUP)
    with closing(configured.reached("east")) as east:
        east.acls.add([deny, allow])
        yield deny, allow
        east.acls.remove([deny, allow])
    west.acls.remove([deny, allow])


def test_a_deny_is_in_place_before_anything_is_allowed(
    configured: ConfiguredGroup, clients: Clients, west: KafkaCluster, rights: tuple[Acl, Acl]
) -> None:
    deny, allow = rights
    configured.plan(clients, "deny-first")
    seen: list[tuple[bool, bool]] = []

    def look(doing: str) -> None:
        if doing == "describe the cluster":  # the guard is asking, right before a batch, or the plan is made again
            listed = west.acls.list()
            seen.append((deny in listed, allow in listed))

    clients.cluster("west", "operator").observe(look)
    assert apply_config(configured.name, clients, "deny-first", approved=False).outcome == "done"
    assert seen[0] == (False, False)
    assert (True, False) in seen
    assert (False, True) not in seen
    assert set(rights) <= west.acls.list()


def test_nothing_is_allowed_where_its_deny_did_not_stay(
    configured: ConfiguredGroup,
    clients: Clients,
    west: KafkaCluster,
    rights: tuple[Acl, Acl],
    before: Callable[[str, Callable[[], None]], None],
) -> None:
    deny, allow = rights
    configured.admin("east").create(f"{configured.name}.between")
    configured.plan(clients, "deny-lost")
    clients.clock = ManualClock(datetime.now(UTC))
    before("create topics", lambda: west.acls.remove([deny]))
    with pytest.raises(StepFailed, match=r"nothing is allowed before DENY DESCRIBE_CONFIGS on topic .* is in place"):
        apply_config(configured.name, clients, "deny-lost", approved=False)
    clients.clock = SystemClock()
    assert allow not in west.acls.list()


def test_mirrormaker_does_not_change_what_is_changed_here(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.admin("east").configure(configured.topic, max_message_bytes="13000")
    flow = Flow(configured.name, "east", "west")
    ours = mirrormaker.connector(clients, flow).config()
    mirrormaker.connect(clients, "west").create(flow.name, {**ours, "sync.topic.configs.enabled": "true"})
    said = r"does not say sync.topic.configs.enabled=false, so two would change the standby"
    plan = configured.plan(clients, "two-of-us")
    assert [(item.key, item.blocks) for item in plan.items if item.kind is ItemKind.FLOW] == [
        ("sync.topic.configs.enabled", True)
    ]
    check = standby_configured(Run(configured.request("about-to-switch"), clients))
    assert check.outcome == "failed"
    assert re.search(said, check.detail)
    with pytest.raises(StepFailed, match=said):
        apply_config(configured.name, clients, "two-of-us", approved=False)
    mirrormaker.connect(clients, "west").delete(flow.name)
    configured.apply_everything(clients, "alone")
    assert watch_config(configured.name, clients).outcome == "ok"


def test_the_direction_turns_with_the_register(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.admin("west").configure(configured.topic, max_message_bytes="14000")
    state = clients.register("east").read(configured.name)
    assert state is not None
    roles = roles_in(state.phase, active=state.standby, standby=state.active)
    turned = replace(state, epoch=state.epoch + 1, roles=roles)
    back = replace(state, epoch=state.epoch + 2)
    for cluster in ("west", "east"):
        clients.register(cluster).copy(turned)
    plan = configured.plan(clients, "turned")
    assert (plan.active, plan.standby) == ("west", "east")
    (row,) = [item for item in plan.changes if item.subject == configured.topic]
    assert row.active == "14000"
    for cluster in ("east", "west"):
        clients.register(cluster).copy(back)
    (row,) = [item for item in configured.plan(clients, "turned-back").changes if item.subject == configured.topic]
    assert row.standby == "14000"
    configured.apply_everything(clients, "east-again")
