from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafka_dr.clusters.streams_groups import StreamsTopology, topology_of


def part(sources: list[str], sinks: list[str], changelogs: list[str], repartitioned: list[str]) -> Any:
    named = [[SimpleNamespace(name=name) for name in names] for names in (changelogs, repartitioned)]
    return SimpleNamespace(
        source_topics=sources,
        repartition_sink_topics=sinks,
        state_changelog_topics=named[0],
        repartition_source_topics=named[1],
    )


def test_what_an_application_makes_is_distinguished_from_what_it_reads() -> None:
    made = "totals-key-repartition"
    topology = SimpleNamespace(
        subtopologies=[
            part(["orders.payments"], [made], [], []),
            part([made], [], ["totals-counts-changelog"], [made]),
        ]
    )
    assert topology_of(topology) == StreamsTopology(("orders.payments",), ("totals-counts-changelog", made))


def test_an_application_that_has_not_joined_has_no_topology() -> None:
    assert topology_of(None) == topology_of(SimpleNamespace(subtopologies=None)) == StreamsTopology()
