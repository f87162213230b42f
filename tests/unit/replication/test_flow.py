from __future__ import annotations

import pytest

from kafka_dr.errors import Refused
from kafka_dr.replication.flow import Flow


def test_a_flow_is_named_by_group_and_direction() -> None:
    assert Flow("orders", "east", "west").name == "dr.orders.east-to-west"
    assert Flow("orders", "west", "east").name == "dr.orders.west-to-east"


@pytest.mark.parametrize("name", ["", "a.b", "a/b", "a b", "ä"])
def test_names_that_rest_paths_or_transactional_ids_would_change_are_refused(name: str) -> None:
    for names in ((name, "east", "west"), ("orders", name, "west"), ("orders", "east", name)):
        with pytest.raises(Refused):
            Flow(*names)


def test_a_flow_from_a_cluster_to_itself_is_refused() -> None:
    with pytest.raises(Refused, match="two clusters"):
        Flow("orders", "east", "east")
