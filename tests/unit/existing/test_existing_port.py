from __future__ import annotations

import pytest

from kafka_dr.errors import NeedsPerson
from kafka_dr.replication.existing.mirrormaker_connect import copies_topic
from kafka_dr.replication.existing.port import ExistingStatus, PartStatus, stored_status


def status(*states: str) -> ExistingStatus:
    return ExistingStatus.from_json(
        {"parts": [{"name": f"c{n}", "state": state, "detail": ""} for n, state in enumerate(states)]}
    )


@pytest.mark.parametrize(
    ("states", "at_rest"),
    [(("stopped", "absent"), True), (("stopped", "paused"), False), (("unknown",), False), (("running",), False)],
)
def test_only_what_is_seen_to_be_stopped_is_called_so(states: tuple[str, ...], at_rest: bool) -> None:
    assert status(*states).at_rest is at_rest


def test_a_status_is_journaled_and_read_back() -> None:
    was = ExistingStatus((PartStatus("a", "running"), PartStatus("b", "failed", "no rights")))

    assert stored_status(was.to_json()) == was
    assert str(was) == "a is running, b is failed: no rights"
    assert was.state_of("c") == "unknown"


@pytest.mark.parametrize("stored", [None, {}, {"parts": [{"name": "a"}]}])
def test_a_status_that_cannot_be_read_is_left_to_a_person(stored: object) -> None:
    with pytest.raises(NeedsPerson, match="cannot be read"):
        stored_status(stored)


@pytest.mark.parametrize(
    ("config", "topic", "copied"),
    [
        ({"topics": r"orders\..*, payments"}, "orders.eu", True),
        ({"topics": r"orders\..*, payments"}, "payments", True),
        ({"topics": r"orders\..*, payments"}, "payments-2", False),
        ({"topics": "orders"}, "orders.eu", False),
        ({}, "anything", True),
        ({}, "__consumer_offsets", False),
        ({}, "orders.replica", False),
        ({"topics": ".*", "topics.exclude": "a"}, "a", False),
        ({"topics": ".*", "topics.exclude": "a"}, "orders.replica", True),
    ],
)
def test_a_connector_copies_what_its_patterns_match_as_a_whole(
    config: dict[str, str], topic: str, copied: bool
) -> None:
    assert copies_topic(config, topic) is copied
