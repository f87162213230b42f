"""What a take over relies on, of every adapter and of what it reaches: it does what it says it can, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.replication.existing.port import ExistingReplication, stored_status
from support.existing_flow import ExistingFlow
from support.owned_flow import OwnedFlow, dedicated, own_copier, owned
from support.protection import Protection
from support.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.long]

_SECONDS = 60.0
Begin = Callable[[Protection, pytest.FixtureRequest], Iterator[ExistingFlow | OwnedFlow]]


def _connectors(_: Protection, request: pytest.FixtureRequest) -> Iterator[ExistingFlow | OwnedFlow]:
    existing: ExistingFlow = request.getfixturevalue("existing")
    yield existing


def _process(make: Callable[..., OwnedFlow], *, commands: bool = True) -> Begin:
    def begin(protection: Protection, _: pytest.FixtureRequest) -> Iterator[ExistingFlow | OwnedFlow]:
        with owned(make(protection, commands=commands)) as flow:
            yield flow

    return begin


ADAPTERS: dict[str, Begin] = {
    "connectors": _connectors,
    "mirrormaker": _process(dedicated),
    "external": _process(own_copier),
    "external without commands": _process(own_copier, commands=False),
}


@pytest.fixture(params=list(ADAPTERS.values()), ids=list(ADAPTERS))
def flow(request: pytest.FixtureRequest, protection: Protection) -> Iterator[ExistingFlow | OwnedFlow]:
    """What one adapter reaches; it runs and has copied 40 records."""
    begin: Begin = request.param
    with contextmanager(begin)(protection, request) as running:
        running.start()
        _copied(running, 40)
        yield running


@pytest.fixture
def adapter(flow: ExistingFlow | OwnedFlow) -> Iterator[ExistingReplication]:
    with flow.protection.clients() as clients:
        yield clients.replication.existing(flow.protection.flow)


def _ends(protection: Protection, cluster: str) -> dict[TopicPartition, int]:
    partitions = [TopicPartition(protection.topic, number) for number in range(protection.partitions)]
    with protection.cluster(cluster, "admin") as admin:
        return admin.topics.last_stable_offsets(partitions)


def _copied(flow: ExistingFlow | OwnedFlow, count: int) -> None:
    flow.protection.produce("east", count)
    flow.wait_copied(_ends(flow.protection, "east"))


def test_what_it_says_of_itself_can_be_read_journaled_and_holds(
    flow: ExistingFlow | OwnedFlow, adapter: ExistingReplication
) -> None:
    able = adapter.abilities()
    assert all(each["reason"] for each in able.to_json().values())
    assert adapter.described
    was = adapter.status()
    assert was.parts
    assert not was.at_rest, "it runs"
    assert bool(was.unknown) is not able.state.can
    assert stored_status(was.to_json()) == was
    positions = adapter.positions()
    assert (positions is not None) is able.positions.can
    # Of its own topics, and never beyond what there is to read.
    ends = _ends(flow.protection, "east")
    assert all(offset <= ends.get(p, 0) for p, offset in (positions or {}).items())
    with flow.protection.cluster("east", "admin") as east:
        topics = sorted(east.topics.names())
    # A process is known by what it has committed.
    eventually(lambda: adapter.unfit(topics) == ())


def test_it_stops_and_runs_again_as_often_as_it_is_asked_without_a_gap_or_refuses_to(
    flow: ExistingFlow | OwnedFlow, adapter: ExistingReplication
) -> None:
    able, was, protection = adapter.abilities(), adapter.status(), flow.protection
    if not able.stop.can:
        with pytest.raises(Refused):
            adapter.stop(_SECONDS)
        with pytest.raises(Refused):
            adapter.resume(was, _SECONDS)
        return
    for _ in range(2):
        found = adapter.stop(_SECONDS)
        assert found.at_rest or all(part.state == "unknown" for part in found.parts)
    before = _ends(protection, "west")
    protection.produce("east", 20)
    positions = adapter.positions()
    if positions is not None:
        assert positions == before, "one that ended in order has committed what it has copied"
    assert _ends(protection, "west") == before
    for _ in range(2):
        adapter.resume(was, _SECONDS)
    flow.wait_copied(_ends(protection, "east"))
    _copied(flow, 20)
    assert _ends(protection, "west") == _ends(protection, "east"), "nothing is missing, and nothing came twice"


def test_it_takes_positions_when_it_is_stopped_or_refuses_them(
    flow: ExistingFlow | OwnedFlow, adapter: ExistingReplication
) -> None:
    able, was, protection = adapter.abilities(), adapter.status(), flow.protection
    wanted = {p: end + 5 for p, end in _ends(protection, "east").items()}
    with pytest.raises(Refused):
        adapter.seed(wanted)
    if not able.seed.can:
        return
    adapter.stop(_SECONDS)
    adapter.seed(wanted)
    assert adapter.positions() == wanted
    before = _ends(protection, "west")
    protection.produce("east", 20)
    adapter.resume(was, _SECONDS)
    # Five records of each partition are passed over, as the positions say.
    flow.wait_copied({p: end + 5 for p, end in before.items()})
    assert _ends(protection, "west") == {p: end + 5 for p, end in before.items()}
