"""A vantage of the project's own, which asks the brokers itself: with it nobody has to override the rule."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from kafka_dr.disaster.probes import take_probes
from kafka_dr.disaster.vantage import probe_vantage
from kafka_dr.outcomes import Probe
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.vantage_server import FRESH_SECONDS, BrokerAddress, Lookout, address_of, ask, server
from support.disaster import Disaster
from support.switched_group import failed

pytestmark = pytest.mark.kafka


@contextmanager
def looking(disaster: Disaster) -> Iterator[str]:
    """A vantage that has seen both clusters; its address, as a topology has it."""
    lab = disaster.group.protection.lab
    clusters = {c.name: tuple(map(address_of, c.bootstrap(lab.settings).split(","))) for c in lab.clusters}
    lookout = Lookout(clusters, lambda broker: ask(broker, seconds=1.0))
    assert [lookout.see(name).answer for name in clusters] == ["up"] * len(clusters)
    with server(lookout, BrokerAddress("127.0.0.1", 0)) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/{{cluster}}"
        serving.shutdown()


def probes(disaster: Disaster) -> dict[str, Probe]:
    with disaster.group.protection.clients() as clients:
        declared = disaster.group.protection.group
        found = take_probes(declared, clients, source=disaster.active, target=disaster.standby, seconds=3.0)
    return {probe.name: probe for probe in found}


@pytest.mark.long
def test_a_killed_cluster_is_given_up_without_an_override(disaster: Disaster) -> None:
    with looking(disaster) as office:
        disaster.watch_from(office)
        disaster.produce_what_never_crosses(10)
        records = disaster.go(StepName.VERIFY, disaster.request(override=""))

    said = {check.name: check for check in records[StepName.GATHER_EVIDENCE].checks}["source_is_down"]
    assert (said.outcome, said.detail) == ("ok", "east shows unreachable, seen by this installation, office")
    state = disaster.state()
    assert (state.phase, state.active) == (Phase.HANDED_OVER, "west")
    assert disaster.group.protection.takes_writes("west")


def test_a_cluster_that_hangs_is_seen_down_and_one_that_answers_is_seen_up(passing: Disaster) -> None:
    with looking(passing) as office:
        passing.watch_from(office)
        assert probes(passing)["vantage office"].outcome == "ok"
        with passing.hanging(passing.broker):
            time.sleep(FRESH_SECONDS)
            found = probes(passing)
    assert (found["metadata"].outcome, found["vantage office"].outcome) == ("failed", "failed")


def test_a_vantage_that_is_gone_or_has_begun_after_the_disaster_knows_nothing(passing: Disaster) -> None:
    with looking(passing) as office:
        passing.watch_from(office)
    lab = passing.group.protection.lab
    clusters = {c.name: tuple(map(address_of, c.bootstrap(lab.settings).split(","))) for c in lab.clusters}
    with passing.hanging(passing.broker):
        gone = probes(passing)["vantage office"]
        with passing.group.protection.clients() as clients:
            refused = failed(StepName.GATHER_EVIDENCE, passing.request(override=""), clients)
        late = Lookout(clusters, lambda broker: ask(broker, seconds=1.0))
        with server(late, BrokerAddress("127.0.0.1", 0)) as serving:
            Thread(target=serving.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{serving.server_address[1]}/{{cluster}}"
            said = probe_vantage("office", address, passing.active, 5.0)
            serving.shutdown()

    assert (gone.outcome, "nothing listens at that address" in gone.detail) == ("unknown", True)
    assert refused.outcome == "unknown"
    assert "only 1 of the 2 vantages needed see that (this installation)" in refused.detail
    assert (said.outcome, "has never answered since this vantage was started" in said.detail) == ("unknown", True)
