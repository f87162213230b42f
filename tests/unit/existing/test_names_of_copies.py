"""The names that existing replication gives copies have to be those of the topology, or nobody would find them."""

from __future__ import annotations

import pytest

from kafka_dr.naming import DefaultNaming, Naming
from kafka_dr.replication.existing import confluent_replicator
from kafka_dr.replication.existing.mirrormaker_connect import unfit_settings
from kafka_dr.replication.existing.names_of_copies import wrong_policy
from kafka_dr.replication.settings import IDENTITY

_DEFAULT = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"
_BARE = {"source.cluster.alias": "east"}
EAST, DASHED = DefaultNaming("east", "west"), DefaultNaming("east", "west", "-")


@pytest.mark.parametrize(
    ("naming", "config"),
    [
        (None, {"replication.policy.class": IDENTITY}),
        (EAST, _BARE),
        (EAST, {**_BARE, "replication.policy.class": _DEFAULT, "replication.policy.separator": "."}),
        (DASHED, {**_BARE, "replication.policy.separator": "-"}),
    ],
)
def test_what_names_copies_as_the_topology_does_is_taken_over(naming: Naming | None, config: dict[str, str]) -> None:
    assert wrong_policy("old", config, naming) == []


@pytest.mark.parametrize(
    ("naming", "config", "said"),
    [
        (None, _BARE, "Set flow.naming to default and flow.separator to '.'"),
        (None, {"replication.policy.separator": "-"}, "flow.separator to '-'"),
        (None, {"replication.policy.class": "its.Own"}, "Observe it as one of observed_flows"),
        (EAST, {"replication.policy.class": IDENTITY}, "Set flow.naming to identity"),
        (EAST, {"replication.policy.class": "its.Own"}, "Observe it as one of observed_flows"),
        (DASHED, _BARE, "correct flow.separator"),
        (EAST, {"source.cluster.alias": "primary"}, "calls 'east': both have to be the same"),
    ],
)
def test_what_names_them_otherwise_is_refused_with_what_to_do(
    naming: Naming | None, config: dict[str, str], said: str
) -> None:
    (only,) = wrong_policy("old", config, naming)
    assert said in only


def test_what_came_from_the_target_is_not_copied_whatever_a_pattern_matches() -> None:
    config, topics = {**_BARE, "topics": ".*"}, ("payments", "west.payments", "mm2-offset-syncs.west.internal")
    assert unfit_settings("old", config, topics, owns=lambda name: name == "payments", naming=EAST) == []
    (only,) = unfit_settings("old", config, (*topics, "carts"), owns=lambda name: name == "payments", naming=EAST)
    assert "also copies carts, which are not the group's" in only


def test_replicator_names_copies_by_a_format() -> None:
    config = {"topic.whitelist": "payments", "topic.rename.format": "east-${topic}"}
    owns = {"payments"}.__contains__
    assert confluent_replicator.unfit_settings("old", config, ["payments"], owns=owns, naming=DASHED) == []
    for naming in (EAST, None):
        (only,) = confluent_replicator.unfit_settings("old", config, ["payments"], owns=owns, naming=naming)
        assert "names copies by east-${topic}" in only
