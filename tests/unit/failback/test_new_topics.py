"""After a rebuild the old cluster may show its new topics only a moment later; what stays wrong is named."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kafka_dr.clusters import NotFound, Topic
from kafka_dr.failback.prepare_old_cluster import wait_until_new
from support.manual_clock import ManualClock

NAME = "orders.payments"
OLD, NEW, NARROW = Topic(NAME, "old", (1, 1)), Topic(NAME, "new", (1, 1)), Topic(NAME, "new", (1,))
SOURCE, DELETES = {NAME: Topic(NAME, "source", (1, 1))}, {NAME: "old"}


def wrong_after(*shown: Topic | NotFound | None, forever: Topic | None) -> tuple[str, ...]:
    """Return what stays wrong on a cluster that shows these one after the other, and then one for ever."""
    looks = iter(shown)

    def topics(_cluster: str) -> Mapping[str, Topic]:
        seen = next(looks, forever)
        if isinstance(seen, NotFound):
            raise seen
        return {} if seen is None else {NAME: seen}

    timing = SimpleNamespace(step_deadline_seconds=5.0)
    run: Any = SimpleNamespace(topics=topics, target="east", clock=ManualClock(), group=SimpleNamespace(timing=timing))
    return tuple(wait_until_new(run, SOURCE, DELETES))


def test_topics_that_show_a_moment_later_are_new() -> None:
    assert wrong_after(None, OLD, NotFound("it vanished"), NARROW, forever=NEW) == ()


def test_what_stays_wrong_is_named() -> None:
    assert wrong_after(forever=None) == ("orders.payments on east has no partitions, expected 2",)
    assert wrong_after(forever=NARROW) == ("orders.payments on east has 1 partitions, expected 2",)
    assert wrong_after(forever=OLD) == ("orders.payments on east is still the old topic",)
