from __future__ import annotations

from kafka_dr.clusters.model import Acl, AclOperation, ResourceType
from lab.allowed import allowed_on
from lab.bootstrap import NEWEST, OLDEST
from lab.clusters import EAST, WEST, clusters_of
from lab.layout import PROJECT, Settings
from lab.rights import APPLICATIONS, OPERATOR, PRINCIPALS, PROBE, REPLICATOR

FLOWS = (("east", "west"), ("west", "east"))
ON_EAST = frozenset(allowed_on(EAST, FLOWS))


def who(acl: Acl) -> str:
    return acl.principal.removeprefix("User:")


def _of(principal: str) -> set[Acl]:
    return {allowed for allowed in ON_EAST if who(allowed) == principal}


def test_every_principal_has_rights_and_no_one_else_has() -> None:
    assert {who(allowed) for allowed in ON_EAST} == set(PRINCIPALS)


def test_over_everything_of_a_kind_one_may_at_most_look_except_that_the_operator_ends_transactions() -> None:
    looking = {AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS}
    more = {(who(a), a.resource, a.operation) for a in ON_EAST if a.name == "*"} - {
        (principal, resource, operation)
        for principal in PRINCIPALS
        for resource in ResourceType
        for operation in looking
    }
    assert more == {(OPERATOR, ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE)}


def test_only_the_operator_may_change_who_has_which_rights() -> None:
    may = {who(a) for a in ON_EAST if a.resource is ResourceType.CLUSTER and a.operation is AclOperation.ALTER}
    assert may == {OPERATOR}


def test_only_applications_and_the_probe_and_the_flow_may_write_to_the_topics() -> None:
    may = {
        who(a)
        for a in ON_EAST
        if a.resource is ResourceType.TOPIC
        and a.name == "orders."
        and a.operation in (AclOperation.WRITE, AclOperation.ALL)
    }
    assert may == {*APPLICATIONS, PROBE, REPLICATOR}


def test_nobody_may_delete_a_topic_of_the_group() -> None:
    may = [
        a
        for a in ON_EAST
        if a.name == "orders."
        and a.operation in (AclOperation.DELETE, AclOperation.ALL)
        and a.resource is ResourceType.TOPIC
    ]
    assert may == []


def test_applications_have_the_same_rights_on_both_clusters() -> None:
    for application in APPLICATIONS:
        assert _of(application) == {a for a in allowed_on(WEST, FLOWS) if who(a) == application}


def test_the_replicator_has_rights_on_the_clusters_own_worker_and_on_the_syncs_of_the_other() -> None:
    on_west = {(a.resource, a.name) for a in allowed_on(WEST, FLOWS) if who(a) == REPLICATOR}
    assert (ResourceType.GROUP, "connect-west") in on_west
    assert (ResourceType.TOPIC, "east.") in on_west
    assert not [name for _, name in on_west if "{" in name or name.startswith("connect-east")]


def test_where_copies_have_other_names_applications_may_read_them_and_nothing_else() -> None:
    more = frozenset(allowed_on(EAST, FLOWS, naming="default")) - ON_EAST
    assert {a.name for a in more} == {"west.orders."}
    assert {a.operation for a in more if who(a) in APPLICATIONS} == {AclOperation.READ, AclOperation.DESCRIBE}
    assert {who(a) for a in more if a.operation in (AclOperation.WRITE, AclOperation.ALL)} <= {PROBE, REPLICATOR}


def test_the_replicator_may_keep_the_checkpoints_of_each_flow_that_ends_on_a_cluster() -> None:
    flows = (("east", "west"), ("west", "east"), ("east", "north"), ("north", "east"))
    found = {
        cluster.name: {a.name for a in allowed_on(cluster, flows) if a.name in {"east.", "west.", "north.", "south."}}
        for cluster in clusters_of(Settings(port_base=19000, brokers=1, clusters=4))
    }
    assert found == {"east": {"west.", "north."}, "west": {"east."}, "north": {"east."}, "south": set()}


def test_the_readme_names_the_pythons_that_the_lab_accepts() -> None:
    oldest, newest = (".".join(map(str, version)) for version in (OLDEST, NEWEST))
    assert f"Python {oldest} to {newest}" in (PROJECT / "README.md").read_text()
