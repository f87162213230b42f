"""An application that writes during a take over and a failover, and what became of every record of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_dr.clusters import OffsetRange
from kafka_dr.register.flow_seed import FlowSeed
from lab import rights
from support import outside_view
from support.acknowledged_writes import Ledger, WritingApplication
from support.protection import Protection


@contextmanager
def writing(protection: Protection) -> Iterator[Ledger]:
    """Let an application write to the cluster that the route names, east without a route."""
    ledger = Ledger()
    settings = {c: protection.lab.client_settings(c, rights.ORDERS_APP) for c in ("east", "west")}

    def now() -> str:
        with protection.clients() as clients:
            route = clients.router(protection.group).read()
        return route.active if route else "east"

    application = WritingApplication("writer", ledger, protection.topic, cluster_now=now, settings=settings)
    application.start()
    try:
        yield ledger
    finally:
        application.stop()


def values(protection: Protection, cluster: str) -> Counter[bytes | None]:
    """Return how often each value is in the group's topics on a cluster, as a plain client reads them."""
    found = outside_view.contents(protection, cluster)
    return Counter(value for log in found.values() for _, _, value, _ in log)


def assert_nothing_missing_or_twice(protection: Protection, ledger: Ledger, seed: FlowSeed) -> None:
    """Every record that was acknowledged is on west, once if it was copied after the take over."""
    on_west = values(protection, "west")
    assert {value for value in ledger.acknowledged if not on_west[value]} == set()
    new: Counter[bytes | None] = Counter()
    with protection.cluster("west", "admin") as admin:
        begins = {protection.copy(p): at for p, at in seed.on_target.items() if p.topic == protection.topic}
        ends = admin.topics.last_stable_offsets(begins)
        new.update(record.value for record in admin.log.read({p: OffsetRange(at, ends[p]) for p, at in begins.items()}))
    assert {value: count for value, count in new.items() if count > 1} == {}
    assert len(new) > 10
