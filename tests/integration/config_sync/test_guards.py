"""What must not happen: a stale plan, two applies, a moving group, another cluster, an open standby."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kafka_dr.checks.config_compare import standby_configured
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.config_sync.applying import Applying
from kafka_dr.config_sync.items import ItemVerdict
from kafka_dr.config_sync.lock import FACTS, held
from kafka_dr.config_sync.register_rights import REGISTER_RIGHT
from kafka_dr.errors import Refused
from kafka_dr.fencing import plan as fences
from kafka_dr.register import Phase
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.run import Run
from kafka_dr.watch.apply_config import apply_config
from kafka_dr.watch.ask_config_approval import ask_config
from kafka_dr.watch.config_plan import plan_config, watch_config
from support.switched_group import Killed

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from support.configured_group import ConfiguredGroup

pytestmark = pytest.mark.kafka


def test_what_changes_after_the_plan_was_shown_makes_it_stale(configured: ConfiguredGroup, clients: Clients) -> None:
    east, west = configured.admin("east"), configured.admin("west")
    before = west.effective([configured.topic])[configured.topic]["max.message.bytes"]
    east.configure(configured.topic, max_message_bytes="5000")
    configured.plan(clients, "stale")
    west.configure(configured.topic, segment_ms="86400000")
    with pytest.raises(StepFailed, match="the differences changed after the plan was shown") as refused:
        apply_config(configured.name, clients, "stale", approved=False)
    assert refused.value.record.outcome == "refused"
    assert west.effective([configured.topic])[configured.topic]["max.message.bytes"] == before != "5000"
    configured.apply_everything(clients, "fresh")
    assert configured.plan(clients, "none-left").changes == ()


def test_nothing_is_applied_that_was_not_shown_or_not_approved(configured: ConfiguredGroup, clients: Clients) -> None:
    with pytest.raises(StepFailed, match=r"has no plan for .* in its evidence"):
        apply_config(configured.name, clients, "unseen", approved=False)
    asked = configured.acl(AclOperation.DESCRIBE, f"{configured.name}.only-on-west")
    with closing(configured.reached("west")) as west:
        west.acls.add([asked])
    configured.plan(clients, "silent")
    with pytest.raises(StepFailed, match="has no answer to approval"):
        apply_config(configured.name, clients, "silent", approved=True)
    with pytest.raises(StepFailed, match=r"approved by alice at .*, too late"):
        configured.answer(clients, "silent", late=True)
    assert configured.answer(clients, "silent", approved=False)
    with pytest.raises(StepFailed, match="it was rejected"):
        apply_config(configured.name, clients, "silent", approved=True)
    configured.plan(clients, "again")
    said = ask_config(configured.name, clients, "again")
    assert said == "alice rejected this plan in run silent: it is not asked about again"
    with closing(configured.reached("west")) as west:
        west.acls.remove([asked])


def test_the_same_plan_is_asked_about_once_at_a_time(configured: ConfiguredGroup, clients: Clients) -> None:
    asked = configured.acl(AclOperation.DESCRIBE, f"{configured.name}.also-only-on-west")
    with closing(configured.reached("west")) as west:
        west.acls.add([asked])
    for run in ("one", "two"):
        configured.plan(clients, run)
    assert not isinstance(ask_config(configured.name, clients, "one"), str)
    assert "run one asks about this plan until" in str(ask_config(configured.name, clients, "two"))
    with closing(configured.reached("west")) as west:
        west.acls.remove([asked])


def test_a_right_that_reaches_the_register_is_named_and_not_given(
    configured: ConfiguredGroup, clients: Clients
) -> None:
    right = configured.acl(AclOperation.WRITE, "*", pattern=PatternType.LITERAL)
    with closing(configured.reached("east")) as east, closing(configured.reached("west")) as west:
        east.acls.add([right])
        try:
            plan = configured.plan(clients, "reaching")
            rows = {row.key: row for row in plan.items if row.subject == str(right)}
            assert {key: (row.verdict, row.change) for key, row in rows.items()} == {
                "": (ItemVerdict.NEVER, None),
                REGISTER_RIGHT: (ItemVerdict.NEVER, None),
            }
            assert f"{right.principal} has WRITE on the topic _kafka_dr.register" in rows[REGISTER_RIGHT].reason
            configured.apply_everything(clients, "reaching-applied")
            assert right not in west.acls.list()
        finally:
            east.acls.remove([right])


def test_two_do_not_apply_at_the_same_time(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.admin("east").configure(configured.topic, max_message_bytes="6000")
    configured.plan(clients, "second")
    operator, register = clients.cluster("east", "operator"), clients.register("east")
    lock = {"cluster": operator, "register": register, "clock": clients.clock, "seconds": 60.0}
    with held(configured.name, "first", **lock) as first:  # type: ignore[arg-type]
        with pytest.raises(StepFailed, match="run first is applying configuration"):
            apply_config(configured.name, clients, "second", approved=False)
        # Who only asked has taken nothing away.
        first.renew()
        past = {"owner": "first", "until": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}
        register.write_fact(configured.name, FACTS, "lock", past)
        assert apply_config(configured.name, clients, "second", approved=False).outcome == "done"
        with pytest.raises(Refused, match="another apply took over"):
            first.renew()


def test_a_group_that_moves_is_left_alone(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.admin("east").configure(configured.topic, max_message_bytes="7000")
    configured.plan(clients, "early")
    state = clients.register("east").read(configured.name)
    assert state is not None
    moving = replace(state, epoch=state.epoch + 1, phase=Phase.SWITCHING, run="a failover")
    at_rest = replace(moving, epoch=moving.epoch + 1, phase=Phase.STABLE)
    clients.register("east").copy(moving)
    with pytest.raises(StepFailed, match="it is switching by run a failover"):
        apply_config(configured.name, clients, "early", approved=False)
    watched = plan_config(configured.name, clients, "late")
    assert getattr(watched, "outcome", "") == "left_alone"
    for cluster in ("east", "west"):
        clients.register(cluster).copy(at_rest)
    with pytest.raises(StepFailed, match="changed after the plan was shown"):
        apply_config(configured.name, clients, "early", approved=False)
    configured.apply_everything(clients, "settled")


def test_a_change_is_not_sent_once_the_group_begins_to_move(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.admin("east").configure(configured.topic, max_message_bytes="8000")
    configured.plan(clients, "overtaken")
    state = clients.register("east").read(configured.name)
    assert state is not None
    moving = replace(state, epoch=state.epoch + 1, phase=Phase.SWITCHING, run="a failover")

    def overtake(doing: str) -> None:
        if doing == "describe the cluster":  # the guard is asking, right before a batch
            clients.register("east").copy(moving)

    clients.cluster("west", "operator").observe(overtake)
    with pytest.raises(StepFailed, match="Nothing more is changed"):
        apply_config(configured.name, clients, "overtaken", approved=False)
    clients.cluster("west", "operator").observe(lambda doing: None)
    assert configured.admin("west").effective([configured.topic])[configured.topic]["max.message.bytes"] != "8000"
    for cluster in ("east", "west"):
        clients.register(cluster).copy(replace(moving, epoch=moving.epoch + 1, phase=Phase.STABLE))
    configured.apply_everything(clients, "settled-again")


def test_a_cluster_with_another_id_is_neither_compared_nor_changed(
    configured: ConfiguredGroup, clients: Clients
) -> None:
    spec = clients.topology.clusters["west"].model_copy(update={"cluster_id": "somebodyElses"})
    clusters = {**clients.topology.clusters, "west": spec}
    clients.topology = clients.topology.model_copy(update={"clusters": clusters})
    for accept in (False, True):
        with pytest.raises(Refused, match="west answers with cluster id"):
            plan_config(configured.name, clients, "wrong", accept_cluster_ids=accept)
    with pytest.raises(Refused, match="west answers with cluster id"):
        watch_config(configured.name, clients)


def test_a_cluster_that_was_replaced_is_accepted_only_on_purpose(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.plan(clients, "first-use")
    pinned = {name: spec.cluster_id for name, spec in clients.topology.clusters.items()}
    for kept_by in ("east", "west"):  # the standby's is the one that counts after a failover
        register = clients.register(kept_by)
        assert register.facts(configured.name, FACTS)["clusters"] == pinned
        register.write_fact(configured.name, FACTS, "clusters", {**pinned, "west": "theOneBefore"})
        with pytest.raises(Refused, match=r"west had another cluster id .* trigger dr_config_sync with accept_cluster"):
            plan_config(configured.name, clients, f"replaced-{kept_by}")
        plan_config(configured.name, clients, f"accepted-{kept_by}", accept_cluster_ids=True)
        plan_config(configured.name, clients, f"as-before-{kept_by}")


def test_a_run_killed_half_way_leaves_the_rest_to_the_next_plan(
    configured: ConfiguredGroup, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    east = configured.admin("east")
    east.create(f"{configured.name}.before-the-kill")
    east.configure(configured.topic, max_message_bytes="9000")
    before = configured.plan(clients, "killed")
    assert len(before.changes) == 2

    def kill(*_arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(Applying, "_set_configs", kill)
        with pytest.raises(Killed):
            apply_config(configured.name, clients, "killed", approved=False)
    with configured.clients() as fresh:
        rest = configured.plan(fresh, "the-rest")
        assert [item.key for item in rest.changes] == ["max.message.bytes"]
        assert apply_config(configured.name, fresh, "the-rest", approved=False).outcome == "done"
        assert configured.plan(fresh, "nothing").changes == ()


@pytest.fixture
def deny(configured: ConfiguredGroup) -> Iterator[Callable[[str, str, AclOperation], None]]:
    """Return what takes a right from the operator on one topic of a cluster.

    It is given back at the end, whatever became of the test: without it nobody else's preflight passes in that lab.
    """
    taken: list[tuple[str, Acl]] = []

    def denied(cluster: str, topic: str, operation: AclOperation) -> None:
        taken.append((cluster, configured.acl(operation, topic, **_OPERATOR)))
        with closing(configured.reached(cluster)) as admin:
            admin.acls.add([taken[-1][1]])

    yield denied
    for cluster, acl in taken:
        with closing(configured.reached(cluster)) as admin:
            admin.acls.remove([acl])


@pytest.fixture
def allow(configured: ConfiguredGroup) -> Callable[[str, str, AclOperation], None]:
    """Return what gives such a right back."""

    def allowed(cluster: str, topic: str, operation: AclOperation) -> None:
        with closing(configured.reached(cluster)) as admin:
            admin.acls.remove([configured.acl(operation, topic, **_OPERATOR)])

    return allowed


_OPERATOR = {
    "principal": "User:dr-operator",
    "pattern": PatternType.LITERAL,
    "permission": AclPermission.DENY,
}


def test_a_topic_without_rights_is_unknown_and_red_while_the_others_continue(
    configured: ConfiguredGroup,
    clients: Clients,
    deny: Callable[[str, str, AclOperation], None],
    allow: Callable[[str, str, AclOperation], None],
) -> None:
    hidden, shut, nowhere = (f"{configured.name}.{suffix}" for suffix in ("hidden", "shut", "seen-on-no-side"))
    for cluster in ("east", "west"):
        for topic in (hidden, shut, nowhere):
            configured.admin(cluster).create(topic)
        deny(cluster, nowhere, AclOperation.DESCRIBE)
    for topic in (hidden, shut, configured.topic):
        configured.admin("east").configure(topic, max_message_bytes="10000")
    deny("west", hidden, AclOperation.DESCRIBE_CONFIGS)
    deny("west", shut, AclOperation.ALTER_CONFIGS)
    plan = configured.plan(clients, "no-rights")
    assert [(item.subject, item.change) for item in plan.of(ItemVerdict.UNKNOWN)] == [(hidden, None), (nowhere, None)]
    with pytest.raises(StepFailed, match=f"1 change was not made: {shut}: .*topic authorization failed") as failed:
        apply_config(configured.name, clients, "no-rights", approved=False)
    assert failed.value.record.outcome == "failed"
    effective = configured.admin("west").effective([configured.topic, shut])
    assert {topic: found["max.message.bytes"] for topic, found in effective.items()} == {
        configured.topic: "10000",
        shut: "1048588",
    }
    watched = watch_config(configured.name, clients)
    assert watched.outcome == "failed"
    for topic in (hidden, shut):
        configured.admin("west").configure(topic, max_message_bytes="10000")
    assert watch_config(configured.name, clients).outcome == "unknown"
    allow("west", hidden, AclOperation.DESCRIBE_CONFIGS)
    allow("west", shut, AclOperation.ALTER_CONFIGS)
    left = watch_config(configured.name, clients)
    assert left.outcome == "unknown"
    assert nowhere in left.summary
    for cluster in ("east", "west"):
        allow(cluster, nowhere, AclOperation.DESCRIBE)
    configured.apply_everything(clients, "all-rights")


def test_a_section_without_rights_is_unknown_and_the_others_continue(
    configured: ConfiguredGroup, clients: Clients
) -> None:
    blind = configured.acl(
        AclOperation.DESCRIBE_CONFIGS, "kafka-cluster", **{**_OPERATOR, "resource": ResourceType.CLUSTER}
    )
    configured.admin("east").configure(configured.topic, max_message_bytes="10500")
    with closing(configured.reached("west")) as admin:
        admin.acls.add([blind])
        try:
            plan = configured.plan(clients, "blind")
            record = apply_config(configured.name, clients, "blind", approved=False)
        finally:
            admin.acls.remove([blind])
    assert [item.subject for item in plan.of(ItemVerdict.UNKNOWN)] == [
        "client quotas",
        "settings of the brokers on west",
    ]
    assert [(item.subject, item.key) for item in plan.changes] == [(configured.topic, "max.message.bytes")]
    assert record.outcome == "done"
    assert configured.admin("west").effective([configured.topic])[configured.topic]["max.message.bytes"] == "10500"


def test_the_standbys_fence_is_whole_before_anything_is_allowed_there(
    configured: ConfiguredGroup, clients: Clients
) -> None:
    wanted = configured.acl(AclOperation.READ, f"{configured.name}-", resource=ResourceType.GROUP)
    fence = fences.standby(configured.group)
    with closing(configured.reached("west")) as west, closing(configured.reached("east")) as east:
        east.acls.add([wanted])
        west.acls.remove([wanted])
        west.acls.remove(fence)
        configured.plan(clients, "open")
        seen: list[bool] = []

        def look(doing: str) -> None:
            if doing == "add ACLs":
                seen.append(fence <= west.acls.list())

        clients.cluster("west", "operator").observe(look)
        assert apply_config(configured.name, clients, "open", approved=False).outcome == "done"
        assert (fence | {wanted}) <= west.acls.list()
    assert configured.refuses_writes("west")


def test_a_run_that_is_about_to_switch_learns_what_must_match(configured: ConfiguredGroup, clients: Clients) -> None:
    configured.admin("east").configure(configured.topic, max_message_bytes="11000")
    check = standby_configured(Run(configured.request("about to switch"), clients))
    assert check.outcome == "failed"
    assert f"{configured.topic} max.message.bytes is 11000 on east and " in check.detail
    configured.apply_everything(clients, "as-it-must-be")
    assert standby_configured(Run(configured.request("again"), clients)).outcome == "ok"


def test_the_fence_is_part_of_no_difference(configured: ConfiguredGroup, clients: Clients) -> None:
    plan = configured.plan(clients, "fenced")
    assert [item for item in plan.items if "DENY" in item.subject] == []
    assert clients.register("west").added_acls(configured.name, "west").current == fences.standby(configured.group)
