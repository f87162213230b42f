"""What two clusters suggest: groups that hold together, questions where nothing shows an answer; it always loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import Acl, AclOperation, AclPermission, ClientSettings, PatternType, ResourceType
from kafka_dr.clusters.group_kinds import ListedGroup
from kafka_dr.set_up.answers import InitAnswers
from kafka_dr.set_up.proposal import ProposedSetUp, propose
from kafka_dr.set_up.seen import SeenCluster
from kafka_dr.set_up.topology_text import questions, topology_text
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology

_OP, _T, _G, _X = AclOperation, ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
_SHOWN = {1: {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": None}}


def acl(principal: str, operation: AclOperation, resource: ResourceType, name: str) -> Acl:
    """Return an ALLOW; a name that ends with a star is a prefix, the star alone every name."""
    prefix = name.endswith("*") and name != "*"
    pattern = PatternType.PREFIXED if prefix else PatternType.LITERAL
    return Acl(resource, name.removesuffix("*") if prefix else name, pattern, principal, operation, AclPermission.ALLOW)


def seen(
    name: str = "berlin",
    topics: Iterable[str] = (),
    acls: Iterable[Acl] = (),
    read_by: Mapping[str, Iterable[str]] | None = None,
) -> SeenCluster:
    settings = ClientSettings(f"{name}:9093", "SASL_SSL", "SCRAM-SHA-512", "root", "secret", ca_file="/ca.pem")
    return SeenCluster(
        name,
        settings,
        f"{name}-0000000000000000",
        frozenset(topics),
        tuple(ListedGroup(group, "consumer", "consumer") for group in read_by or ()),
        {group: frozenset(read) for group, read in (read_by or {}).items()},
        frozenset(acls),
        _SHOWN,
    )


ANSWERS = InitAnswers(
    Path("/srv/dr"),
    {"berlin": "berlin:9093", "oslo": "oslo:9093"},
    {"berlin": Path("b.properties"), "oslo": Path("o.properties")},
)


def loaded(
    folder: Path, active: SeenCluster, standby: SeenCluster | None = None, answers: InitAnswers = ANSWERS
) -> tuple[Topology, list[str], ProposedSetUp]:
    """Return the topology as the product reads it, and its questions."""
    standby = standby or seen("oslo")
    proposal = propose(active, standby, answers)
    text = topology_text(active, standby, proposal, answers)
    file = folder / "topology.yaml"
    file.write_text(text)
    return load(file, {}), questions(text), proposal


def test_topics_that_a_group_reads_and_those_of_one_transaction_are_in_one_protection_group(tmp_path: Path) -> None:
    acls = [
        acl("User:writer", _OP.WRITE, _T, "c"),
        acl("User:writer", _OP.WRITE, _T, "d"),
        acl("User:writer", _OP.WRITE, _X, "tx-*"),
    ]
    topology, _, _ = loaded(tmp_path, seen(topics="abcde", acls=acls, read_by={"reader": ("a", "b")}))
    owned = {frozenset(group.topics) - {group.canary_topic} for group in topology.protection_groups.values()}
    assert owned == {frozenset("ab"), frozenset("cd"), frozenset("e")}
    of_c = next(group for group in topology.protection_groups.values() if group.owns_topic("c"))
    assert (of_c.transactional_id_prefixes, of_c.principals) == (("tx-",), ("User:writer",))


def test_a_writers_prefix_is_a_prefix_of_the_group_and_a_readers_is_not(tmp_path: Path) -> None:
    acls = [acl("User:shop", _OP.WRITE, _T, "shop.*"), acl("User:bi", _OP.READ, _T, "s*")]
    topology, asked, _ = loaded(tmp_path, seen(topics=("shop.a", "shop.b", "stock"), acls=acls))
    shop = topology.group("shop")
    assert (shop.topic_prefixes, shop.topics, shop.principals) == (("shop.",), (), ("User:shop",))
    assert shop.readers.principals == ("User:bi",)
    assert any("do these principals read in consumer groups that move" in each for each in asked)


def test_a_right_on_every_topic_makes_a_principal_known_and_joins_nothing(tmp_path: Path) -> None:
    acls = [acl("User:etl", _OP.WRITE, _T, "*"), acl("User:*", _OP.READ, _T, "b")]
    topology, asked, _ = loaded(tmp_path, seen(topics="ab", acls=acls))
    assert {group.principals for group in topology.protection_groups.values()} == {("User:etl",)}
    assert any("everybody (User:*)" in each for each in asked)


def test_what_belongs_to_kafka_to_replication_to_workers_and_to_this_project_is_in_no_group(tmp_path: Path) -> None:
    topics = ("__consumer_offsets", "mm2-offset-syncs.x.internal", "paris.checkpoints.internal", "paris.copy", "app")
    own = ("_schemas", "sinks-configs", "heartbeats", "_kafka_dr.register")
    active = seen(topics=(*topics, *own))
    active = replace(active, groups=(ListedGroup("sinks", "other", "classic connect"),))
    roles = [acl("User:dr-operator", _OP.WRITE, _T, "app"), acl("User:root", _OP.WRITE, _T, "app")]
    answers = replace(ANSWERS, super_users=("User:root",))
    active = replace(active, acls=frozenset(roles), read_by={"dr-reader": frozenset({"app"})})
    topology, _, _ = loaded(tmp_path, active, answers=answers)
    (group,) = topology.protection_groups.values()
    assert group.consumer_groups == ()
    assert (group.topics, group.principals) == (("app", "app.dr-canary"), ("User:UNKNOWN",))


def test_one_name_gathers_everything_and_topics_may_be_chosen(tmp_path: Path) -> None:
    active = seen(topics=("a.x", "b", "c"))
    answers = replace(ANSWERS, group="everything", topics=("a.*", "b"))
    topology, _, _ = loaded(tmp_path, active, answers=answers)
    assert set(topology.protection_groups) == {"everything"}
    assert topology.group("everything").topics == ("a.x", "b", "everything.dr-canary")


def test_existing_replication_is_a_question_with_what_was_seen(tmp_path: Path) -> None:
    acls = [acl("User:old-copier", _OP.WRITE, _T, "a")]
    standby = seen("oslo", topics=("a", "mm2-offset-syncs.x.internal", "berlin.checkpoints.internal"), acls=acls)
    topology, asked, proposal = loaded(tmp_path, seen(topics="a"), standby)
    assert topology.group("a").existing_replication is None
    (said,) = [each for each in asked if "what copies the topics of a now" in each]
    assert "User:old-copier" in said
    assert proposal.groups[0].copiers == ("User:old-copier",)
    assert '#   source_alias: "berlin"' in (tmp_path / "topology.yaml").read_text()


@pytest.mark.parametrize(
    ("shown", "said"),
    [("", "is not set on broker 1 of berlin"), ("com.acme.Rbac", "is com.acme.Rbac"), (None, "does not show")],
)
def test_an_authorizer_that_is_not_kafkas_is_the_first_question_of_its_cluster(
    tmp_path: Path, shown: str | None, said: str
) -> None:
    active = replace(seen(topics="a"), shown={1: {"authorizer.class.name": shown}})
    _, asked, _ = loaded(tmp_path, active)
    assert any(said in each for each in asked), asked


_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ("__x", "dr-x", "kafka-dr-x", "${HOME}", "*", " x", "x\nrequester_may_approve: false")
)
_TOPICS = st.text("ab.-_", min_size=1, max_size=6)
_ACLS = st.builds(
    acl,
    _NAMES.map(lambda name: f"User:{name}"),
    st.sampled_from((_OP.READ, _OP.WRITE, _OP.ALL)),
    st.sampled_from((_G, _X)),
    _NAMES | _TOPICS.map(lambda name: f"{name}*"),
) | st.builds(acl, st.just("User:app"), st.sampled_from((_OP.READ, _OP.WRITE)), st.just(_T), _TOPICS.map("{}*".format))


@settings(max_examples=300)
@given(st.sets(_TOPICS, min_size=1, max_size=6), st.lists(_ACLS, max_size=8), st.dictionaries(_NAMES, st.sets(_TOPICS)))
def test_whatever_names_clusters_have_the_topology_loads_and_no_name_is_taken_for_text_of_ours(
    tmp_path_factory: pytest.TempPathFactory, topics: set[str], acls: list[Acl], read_by: dict[str, set[str]]
) -> None:
    active = seen(topics=topics, acls=acls, read_by=read_by)
    if not propose(active, seen("oslo"), ANSWERS).groups:
        return
    topology, _, _ = loaded(tmp_path_factory.mktemp("any"), active)
    owned = [name for name in topics for group in topology.protection_groups.values() if group.owns_topic(name)]
    assert len(owned) == len(set(owned))


def test_a_groups_name_is_chosen_so_that_its_canary_is_in_no_other_group(tmp_path: Path) -> None:
    acls = [acl("User:app", _OP.WRITE, _T, "shop.*")]
    topology, _, _ = loaded(tmp_path, seen(topics=("shop", "shop.a"), acls=acls))
    assert {group.canary_topic for group in topology.protection_groups.values() if group.topics} == {"shop-2.dr-canary"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_chain_of_consumer_groups_holds_all_of_its_topics_together(tmp_path: Path, order: int) -> None:
    topics = [f"t{number}" for number in range(16)]
    near = [
        (one, other) for step in (1, 2, 4, 8) for one, other in zip(topics[::step], topics[step::step], strict=False)
    ]
    read_by = {f"g{number}": pair for number, pair in enumerate(near[::order])}
    acls = [acl("User:app", _OP.WRITE, _T, f"{topic}*") for topic in topics]
    topology, _, _ = loaded(tmp_path, seen(topics=topics, acls=acls, read_by=read_by))
    (group,) = topology.protection_groups.values()
    assert all(map(group.owns_topic, topics))
