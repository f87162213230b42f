"""A block of active-active use is read as protection groups that share topics and flows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from kafka_dr.clusters.model import ResourceType
from kafka_dr.fencing import plan
from kafka_dr.topology.audited import audited_flows
from kafka_dr.topology.model import Topology

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]

BLOCK = """\
active_active:
  shop:
    members:
      east: {route: {kind: file, path: /srv/route/shop-east.json}}
      west: {route: {kind: file, path: /srv/route/shop-west.json}}
    flow: {naming: default}
    topics: [baskets]
    transactional_ids: [basket-writer]
    union: [shelves]
    local: [mails]
    rest_read_by: {mails: mails-rest}
    moves_alone:
      stock: {begins_on: west, consumer_groups: [counts], route: {kind: file, path: /srv/route/stock.json}}
    principals: ["User:shop-app"]
    operator_principal: User:op
    probe_principal: User:probe
    replicator_principal: User:replicator
    approvers: [alice]
    objectives: {rpo_seconds: 60, rto_seconds: 300, write_outage_seconds: 10}
"""


_WEST = "west: {route: {kind: file, path: /srv/route/shop-west.json}}"


def with_block(edited: Edit, *changes: tuple[str, str]) -> str:
    text = edited(more=BLOCK)
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_each_member_has_a_group_of_its_clients_with_all_topics_and_a_route_of_its_own(
    edited: Edit, load_text: Load
) -> None:
    topology = load_text(with_block(edited))
    east, west = topology.group("shop-east"), topology.group("shop-west")

    assert (east.clusters, west.clusters) == (("east", "west"), ("west", "east"))
    assert (east.initial_active, west.initial_active) == ("east", "west")
    assert east.topics == west.topics == ("baskets", *(f"shop-{name}.dr-canary" for name in ("east", "west", "stock")))
    assert east.route != west.route
    assert east.readers.consumer_groups == ("shelves", "mails", "mails-rest-east", "mails-rest-west", "counts")
    assert (east.groups_set, west.groups_set) == (("mails-rest-east",), ("mails-rest-west",))
    assert east.shares_with(west)
    assert not east.shares_with(topology.group("orders"))


def test_each_flow_and_each_fence_of_topics_belongs_to_the_clients_of_its_source(edited: Edit, load_text: Load) -> None:
    topology = load_text(with_block(edited))
    east = topology.group("shop-east")

    flows = {name for name in audited_flows(topology) if name.startswith("shop")}
    assert flows == {"shop-east.east-to-west", "shop-west.west-to-east"}
    assert (east.flow_group("east"), east.flow_group("west")) == ("shop-east", "shop-west")
    kinds = {cluster: {acl.resource for acl in plan.standby(east.on(cluster))} for cluster in east.clusters}
    assert kinds == {"east": {ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID}, "west": set()}
    assert {acl.name for acl in plan.copy_flow_fence(east, "east", "west")} >= {"east.baskets"}
    assert not plan.copy_flow_fence(east, "west", "east")
    assert plan.apart(east, "east")
    assert not plan.apart(east, "west")


def test_consumer_groups_that_move_alone_are_a_group_that_closes_no_topic_and_owns_no_flow(
    edited: Edit, load_text: Load
) -> None:
    stock = load_text(with_block(edited)).group("shop-stock")

    assert (stock.clusters, stock.initial_active, stock.consumer_groups) == (("east", "west"), "west", ("counts",))
    assert stock.readers.consumer_groups == ("shelves", "mails", "mails-rest-east", "mails-rest-west")
    assert not any(stock.closes(cluster) or stock.owns_flows_from(cluster) for cluster in stock.clusters)
    assert {acl.resource for acl in plan.every(stock, "east")} == {ResourceType.GROUP}


def test_no_two_groups_of_a_block_add_the_same_deny(edited: Edit, load_text: Load) -> None:
    topology = load_text(with_block(edited))

    for cluster in ("east", "west"):
        here = [plan.every(topology.group(name), cluster) for name in ("shop-east", "shop-west", "shop-stock")]
        assert all(here)
        assert not any(one & other for one, other in combinations(here, 2)), cluster


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("    flow: {naming: default}\n", "", "active_active.shop.flow.naming", "write naming: default"),
        (
            "west: {route: {kind: file, path: /srv/route/shop-west.json}}",
            "",
            "active_active.shop.members",
            "two to five",
        ),
        ("topics: [baskets]", "topics: [orders.mine]", "active_active.shop.topics[0]", "group 'orders'"),
        ("local: [mails]", "local: [shelves]", "active_active.shop.local[0]", "already given"),
        ("shop-west.json", "shop-east.json", "active_active.shop.members.west.route.path", "already given"),
        ("west: {route", "north: {route", "active_active.shop.members.north", "no cluster 'north'"),
        ("topics: [baskets]", "topic: [baskets]", "active_active.shop.topic", "topics"),
        ("begins_on: west", "begins_on: north", "active_active.shop.moves_alone.stock.begins_on", "write one of east"),
        ("local: [mails]", "moves: {mails: [east]}", "active_active.shop.moves.mails", "write text"),
        ("[counts]", "[shelves]", "active_active.shop.moves_alone.stock.consumer_groups[0]", "already given"),
        ("stock.json", "shop-east.json", "active_active.shop.moves_alone.stock.route.path", "already given"),
        ("mails: mails-rest", "mail: mails-rest", "active_active.shop.rest_read_by.mail", "name a group of local"),
        ("mails: mails-rest", "mails: shelves", "active_active.shop.rest_read_by.mails", "already given"),
        ("local: [mails]", "moves: {mails: north}", "active_active.shop.moves.mails", "write one of east, west"),
        ("local: [mails]", "moves: {shelves: east}", "active_active.shop.moves.shelves", "already given"),
        ('["User:shop-app"]', '["User:probe"]', "active_active.shop.principals[0]", "probe_principal"),
    ],
)
def test_what_is_wrong_is_said_once_and_where_it_is_written(
    edited: Edit, mistakes_in: Complain, old: str, new: str, place: str, said: str
) -> None:
    found = mistakes_in(with_block(edited, (old, new)))

    (mistake,) = (each for each in found if place in each)
    assert said in mistake
    assert not any("protection_groups.shop" in each for each in found)


def test_a_block_and_a_group_have_different_names(edited: Edit, mistakes_in: Complain, second: str) -> None:
    found = mistakes_in(edited(more=second.replace("  carts:", "  shop-east:") + BLOCK))

    assert any("protection group 'shop-east'" in each for each in found)


HUBS = """\
hub_and_spoke:
  sales:
    spokes:
      east: {route: {kind: file, path: /srv/route/sales-east.json}}
    hubs:
      west: {route: {kind: file, path: /srv/route/sales-west.json}}
      north: {route: {kind: file, path: /srv/route/sales-north.json}}
    flow: {naming: default}
    topics: [receipts]
    moves: {report: west}
    principals: ["User:sales-app"]
    operator_principal: User:op
    probe_principal: User:probe
    replicator_principal: User:replicator
    approvers: [alice]
    objectives: {rpo_seconds: 60, rto_seconds: 300, write_outage_seconds: 10}
"""


_NORTH = """\
  north:
    cluster_id: dV8nRk3sTmGq2bYx5LwPjA
    connections: {operator: n_op, probe: n_probe, audit: n_audit, replicator: n_repl}
    connect: connect_north
    connect_group_id: connect-north
    replicator: {bootstrap_servers: "north:9092", security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN}
    replicator_secrets: /etc/connect/secrets.properties
"""


def with_hubs(edited: Edit, *changes: tuple[str, str]) -> str:
    text = HUBS
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return edited(("protection_groups:\n", f"{_NORTH}protection_groups:\n"), more=text)


def test_spokes_are_copied_to_hubs_and_hubs_to_each_other(edited: Edit, load_text: Load) -> None:
    topology = load_text(with_hubs(edited))
    flows = {name.partition(".")[2] for name in audited_flows(topology) if name.startswith("sales")}
    assert flows == {"east-to-west", "east-to-north", "west-to-north", "north-to-west"}
    west = topology.group("sales-west")
    assert west.clusters == ("west", "north")
    assert west.consumer_groups == ("report",)
    assert west.origins == ("east", "west", "north")
    assert "report" in topology.group("sales-east").readers.consumer_groups
    assert west.original_of("east.receipts", "north") == "receipts"
    copies = {acl.name for acl in plan.apart(west, "west")}
    assert {"east.receipts", "north.receipts"} <= copies, "nobody but replication writes to a copy on a hub"


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        (
            "moves: {report: west}",
            "moves: {report: east}",
            "hub_and_spoke.sales.moves.report",
            "write one of west, north",
        ),
        ("east: {route", "west: {route", "hub_and_spoke.sales.spokes.west", "a member of active_active"),
        ("sales-north.json", "sales-west.json", "hub_and_spoke.sales.hubs.north.route.path", "already given"),
    ],
)
def test_a_mistake_about_hubs_is_reported_where_it_is_written(
    edited: Edit, mistakes_in: Complain, old: str, new: str, place: str, said: str
) -> None:
    found = mistakes_in(with_hubs(edited, (old, new)))
    assert any(place in each and said in each for each in found), found


def test_conflicts_are_audited_only_where_a_block_says_so(edited: Edit, load_text: Load) -> None:
    assert load_text(with_block(edited)).conflict_blocks == {}
    asked = (
        "    union: [shelves]\n",
        "    union: [shelves]\n    moves: {prices: west}\n    conflicts: {skew_ms: 250}\n",
    )
    topology = load_text(with_block(edited, asked))
    shop = topology.conflict_blocks["shop"]
    assert shop.conflicts is not None
    assert (shop.conflicts.skew_ms, shop.conflicts.strategy, shop.conflicts.keys) == (250, "last_write_wins", "hashed")
    assert (shop.readers_on("east"), shop.readers_on("west")) == (("shelves",), ("shelves", "prices"))
    assert topology.group("shop-east").topics == load_text(with_block(edited)).group("shop-east").topics


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "{skew_ms: 250, strategy: newest}",
            "conflicts.strategy: 'newest' is written here; write one of 'last_write_wins', 'source_priority', 'merge'",
        ),
        ("{skew_ms: 1, strategy: custom}", "custom decides, and no function is named"),
        ("{skew_ms: 1, strategy: custom, custom: rules}", "conflicts.custom"),
        ("{skew_ms: 1, strategy: source_priority, priority: [north]}", "priority[0]: 'north' is no member"),
        ("{strategy: last_write_wins}", "skew_ms"),
        ("{skew_ms: -1}", "at least 0"),
        ("{skew_ms: 1, keys: secret}", "one of 'hashed' or 'plain'"),
        ("{skew_ms: 1, ownership: {}}", "no rule says who owns a record"),
        (
            "{skew_ms: 1, ownership: {by_key_prefix: {a: north}}}",
            "'north' is no member of the block; write one of",
        ),
        ("{skew_ms: 1, provenance: {names: {dc-3: north}}}", "names.dc-3: 'north' is no member of the block"),
        ("{skew_ms: 1, provenance: {field: a b}}", "provenance.field"),
        ("{skew_ms: 1, ownership: {by_partition: [east, north]}}", "by_partition[1]: 'north' is no member"),
        ("{skew_ms: 1, ownership: {by_hash: {slots: [north, west]}}}", "by_hash.slots[0]: 'north' is no member"),
        ("{skew_ms: 1, ownership: {by_hash: {function: md5, slots: [west]}}}", "one of 'murmur2' or 'crc32'"),
    ],
)
def test_what_is_wrong_with_conflicts_is_said_once_with_its_line(
    edited: Edit, mistakes_in: Complain, written: str, said: str
) -> None:
    text = with_block(edited, ("    union: [shelves]\n", f"    union: [shelves]\n    conflicts: {written}\n"))
    (mistake,) = mistakes_in(text)
    assert said in mistake
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "conflicts:" in each)
    assert mistake.split(": ")[0].endswith(str(line)), mistake
