"""What is switched off on a cluster that may hold stranded records, and what is given back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.clusters.configuration import ConfigValue, Origin
from kafka_dr.runs.retention_hold import RETENTION_HOLD, Before, RetentionHold, open_holds, to_give_back, to_hold

AT = datetime(2026, 11, 28, 3, 0, tzinfo=UTC)
NEVER = str(2**63 - 1)
HOLD = RetentionHold("east", AT, {"orders": "id1"}, {"orders": {"retention.ms": "60000", "retention.bytes": None}})
FACT = f"{RETENTION_HOLD}.east"


def configs(**values: str) -> dict[str, ConfigValue]:
    defaults = {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "min.compaction.lag.ms": "0",
        "max.compaction.lag.ms": NEVER,
    }
    found = defaults | {key.replace("_", "."): value for key, value in values.items()}
    return {key: ConfigValue(value, Origin.DEFAULT) for key, value in found.items()}


def test_what_a_topic_deletes_and_compacts_by_is_switched_off_and_nothing_else() -> None:
    assert to_hold(configs()) == {"retention.ms": "-1"}
    assert to_hold(configs(retention_bytes="1000")) == {"retention.ms": "-1", "retention.bytes": "-1"}
    assert to_hold(configs(cleanup_policy="compact")) == {"min.compaction.lag.ms": NEVER}
    both = to_hold(configs(cleanup_policy="compact,delete", max_compaction_lag_ms="3600000"))
    assert both == {"retention.ms": "-1", "min.compaction.lag.ms": NEVER, "max.compaction.lag.ms": NEVER}
    # Since Kafka 4.1 a topic may have neither policy.
    assert to_hold(configs(cleanup_policy="")) == {}


def test_a_topic_that_is_held_already_is_left_alone() -> None:
    assert to_hold(configs(retention_ms="-1")) == {}
    assert to_hold(configs(cleanup_policy="compact", min_compaction_lag_ms=NEVER)) == {}


def test_what_somebody_has_set_since_is_not_given_back() -> None:
    before = {"retention.ms": "60000", "retention.bytes": None}
    assert to_give_back(configs(retention_ms="-1"), before) == before
    assert to_give_back(configs(retention_ms="5"), before) == {"retention.bytes": None}


@pytest.mark.parametrize("where", [("west",), ("east",), ("west", "east")])
def test_either_register_alone_knows_what_is_held(where: tuple[str, ...]) -> None:
    histories = {name: {"run": {FACT: HOLD.to_json()}} for name in where}
    assert open_holds(histories, "east") == HOLD
    assert open_holds(histories, "north") is None


def test_what_was_given_back_is_not_given_back_again() -> None:
    ended = replace(HOLD, given_back=AT + timedelta(hours=1))
    # Only one register took the note before the process died.
    histories = {"west": {"run": {FACT: ended.to_json()}}, "east": {"run": {FACT: HOLD.to_json()}}}
    assert open_holds(histories, "east") is None
    later = replace(HOLD, at=AT + timedelta(days=9), before={"orders": {"retention.ms": "7"}})
    histories["west"]["later"] = {FACT: later.to_json()}
    assert open_holds(histories, "east") == later


def test_of_two_holds_the_first_one_knows_what_the_topic_had() -> None:
    more: dict[str, Before] = {
        "orders": {"retention.ms": "-1", "min.compaction.lag.ms": "0"},
        "bills": {"retention.ms": None},
    }
    later = RetentionHold("east", AT + timedelta(minutes=5), {"orders": "id1", "bills": "id2"}, more)
    found = open_holds({"west": {"a": {FACT: HOLD.to_json()}, "b": {FACT: later.to_json()}}}, "east")
    assert found is not None
    assert found.before == {
        "orders": {"retention.ms": "60000", "retention.bytes": None, "min.compaction.lag.ms": "0"},
        "bills": {"retention.ms": None},
    }


def test_of_a_topic_that_was_created_again_only_the_newest_hold_counts() -> None:
    later = RetentionHold("east", AT + timedelta(minutes=5), {"orders": "id9"}, {"orders": {"retention.ms": "9"}})
    found = open_holds({"west": {"a": {FACT: HOLD.to_json()}, "b": {FACT: later.to_json()}}}, "east")
    assert found is not None
    assert (dict(found.topic_ids), dict(found.before)) == ({"orders": "id9"}, {"orders": {"retention.ms": "9"}})
