"""A stable group, and what happens to it when its active cluster is given up and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.named_rows import positions_to_json
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import handed_over, without_source
from kafka_dr.routing import FileRouter, Route
from kafka_dr.runs.at_rest import WatchResult
from lab.api import Lab
from support import outside_view
from support.protection import Protection
from support.register_states import source_given_up
from support.route_file import route_file
from support.switched_group import SwitchedGroup

RUN = "given-up"


@dataclass(slots=True)
class GivenUp:
    """A group whose east was given up while it did not answer: only west's register, ACLs and the route say so.

    :param state: west's record, ``unfenced``
    """

    switching: SwitchedGroup
    state: RegisterState

    @classmethod
    def give_up(cls, switching: SwitchedGroup) -> GivenUp:
        """Change west as an unplanned failover does, and nothing on east."""
        protection = switching.protection
        state = _left_behind(protection.state("east"))
        with protection.clients() as clients, protection.cluster("west", "admin") as west:
            flow = clients.replicator(protection.flow)
            flow.stop()
            flow.wait_stopped(30)
            ends = clients.cluster("east", "operator").topics.last_stable_offsets(switching.at(0, 0))
            crossed = positions_to_json(ends)
            register = clients.register("west")
            register.write_fact(protection.name, RUN, "unverified", {"frontier": [], "copied": crossed})
            register.write_fact(protection.name, RUN, "opened", {"at": state.at.isoformat()})
            register.copy(state)
            west.acls.add(plan.flow_fence(protection.group))
            west.acls.remove(plan.standby(protection.group))
            router = FileRouter(route_file(protection.group))
            stored, servers = router.read(), clients.topology.cluster("west").route_bootstrap_servers
            assert stored is not None
            route = Route(protection.name, "west", servers, state.epoch, state.at)
            router.switch(expected_epoch=stored.epoch, route=route)
        return cls(switching, state)


def _left_behind(stable: RegisterState | None) -> RegisterState:
    """The record of a group whose active cluster was given up, made by the register's own transitions."""
    assert stable is not None
    now = datetime.now(UTC)
    claimed = source_given_up(stable, RUN, now)
    return without_source(handed_over(claimed, run=RUN, at=now), run=RUN, fenced=False, at=now)


def look(protection: Protection) -> WatchResult:
    """Check once, with clients of its own, as each run of the DAG does."""
    with protection.clients() as clients:
        return check_health(protection.name, clients)


def said(watched: WatchResult) -> str:
    return "\n".join(watched.sentences)


@pytest.fixture(scope="module")
def group(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwitchedGroup]:
    """A stable group, active on east, shared by the tests of a module; each test leaves it as it was."""
    protection = Protection(lab, tmp_path_factory.mktemp("health"))
    switching = SwitchedGroup.adopt(protection, records=60)
    try:
        yield switching
    finally:
        protection.delete_flows()


@pytest.fixture
def at_rest(group: SwitchedGroup) -> Iterator[SwitchedGroup]:
    """The shared group, which is stable again after the test."""
    yield group
    denies = outside_view.denies(group.protection, "west")
    assert plan.standby(group.protection.group) <= denies
