"""The picture of a flow: direction, lag and canary; what is old, held or never measured is UNKNOWN, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from kafka_dr.evidence.flow_picture import FlowPicture, flow_picture
from kafka_dr.situations.group_record import group_record
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON, all_kept, kept


def picture(**changed: Any) -> FlowPicture:
    found: Any = {**all_kept("orders"), **changed}
    watched = watched_group("orders", found, NOON)
    return flow_picture(watched, group_record(watched.of("health"), (), NOON))


def test_a_healthy_flow_is_drawn_from_the_active_cluster_to_the_standby() -> None:
    assert picture() == FlowPicture(
        "east", "west", True, "standby", "lag 0.5 s (7 records)", "canary on time, 0.4 s", "good"
    )


def test_the_worst_of_flow_lag_and_canary_is_the_colour() -> None:
    assert picture(flows=kept("orders", "flows", outcome="failed")).colour == "bad"
    assert picture(canary=kept("orders", "canary", outcome="left_alone")).colour == "unknown"


def test_what_is_old_or_was_never_measured_is_unknown_in_words() -> None:
    old = replace(kept("orders", "lag"), looked_at=NOON - timedelta(hours=3))
    assert (picture(lag=old).lag, picture(lag=old).colour) == ("lag UNKNOWN", "unknown")
    assert picture(canary=None).canary == "canary UNKNOWN"
    assert picture(lag=kept("orders", "lag", facts={"seconds": "soon", "records": True})).lag == "lag UNKNOWN"
    blind = picture(health=None)
    assert (blind.active, blind.standby, blind.known, blind.colour) == ("?", "?", False, "unknown")
    stale = picture(health=replace(kept("orders", "health"), looked_at=NOON - timedelta(hours=3)))
    assert (stale.active, stale.known, stale.colour) == ("east", False, "unknown")
