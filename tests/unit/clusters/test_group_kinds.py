from __future__ import annotations

import pytest

from kafka_dr.clusters.group_kinds import _group, internal_topics, streams_applications


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"group_id": "g", "protocol_type": "consumer", "group_type": "classic"}, "consumer"),
        ({"group_id": "g", "protocol_type": "consumer", "group_type": "consumer"}, "consumer"),
        ({"group_id": "g", "protocol_type": "", "group_type": "classic"}, "consumer"),
        ({"group_id": "g", "protocol_type": "share", "group_type": "share"}, "share"),
        ({"group_id": "g", "protocol_type": "share", "group_type": "Share"}, "share"),
        ({"group_id": "g", "protocol_type": "streams", "group_type": "streams"}, "streams"),
        ({"group_id": "g", "protocol_type": "connect", "group_type": "classic"}, "other"),
    ],
)
def test_a_groups_type_and_protocol_show_its_kind(row: dict[str, str], kind: str) -> None:
    assert _group(row).kind == kind


def test_internal_topics_show_a_streams_application() -> None:
    topics = ["orders-totals-counts-changelog", "orders.payments", "orders-joined-by-key-repartition"]
    assert streams_applications({"orders-totals": "", "orders-joined": "", "orders-plain": ""}, topics) == {
        "orders-totals": "its topic orders-totals-counts-changelog shows it",
        "orders-joined": "its topic orders-joined-by-key-repartition shows it",
    }


def test_members_show_a_streams_application_without_state() -> None:
    assert streams_applications({"orders-stateless": "stream", "orders": "range"}, ["orders-x-changelog"]) == {
        "orders-stateless": "the assignor of its members shows it"
    }


def test_a_group_that_nobody_ever_joined_is_distinguished_from_one_that_is_empty_now() -> None:
    never = {"group_id": "g", "protocol_type": "", "group_type": "classic"}
    assert not _group(never).joined
    assert _group({**never, "protocol_type": "consumer"}).joined
    assert _group({**never, "group_type": "consumer", "protocol_type": "consumer"}).joined


def test_an_internal_topic_belongs_to_the_application_with_the_longest_name_that_fits() -> None:
    topics = ["orders-totals-counts-changelog", "orders-by-key-repartition", "orders-plain", "orders.x-changelog"]
    both = ("orders", "orders-totals")
    assert internal_topics("orders", topics, both) == ("orders-by-key-repartition",)
    assert internal_topics("orders-totals", topics, both) == ("orders-totals-counts-changelog",)
    assert internal_topics("orders", topics, ("orders",)) == (topics[1], topics[0])
