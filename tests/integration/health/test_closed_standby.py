"""A standby whose fence is made of DENYs of every operation: proven, restored, and made of them again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.health.conftest import look, said

from kafka_dr.clusters import NotAuthorized
from kafka_dr.fencing import plan
from lab.api import Lab
from support import outside_view
from support.closed_standby import close, fewer
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def closed(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwitchedGroup]:
    """A group that wants it; nothing has been replaced yet."""
    protection = Protection(lab, tmp_path_factory.mktemp("closed"), changes={"fence_operations": "all"})
    switching = SwitchedGroup.adopt(protection, records=60)
    try:
        yield switching
    finally:
        protection.delete_flows()


def test_a_standby_is_closed_in_two_looks_and_shows_applications_nothing(closed: SwitchedGroup) -> None:
    protection = closed.protection
    first = look(protection)
    assert "one DENY of every operation replaces those of single operations on west" in said(first)
    assert plan.standby(protection.group) == outside_view.denies(protection, "west")
    states = [protection.state(cluster) for cluster in ("east", "west")]
    assert states[0] == states[1]
    assert states[0] is not None
    assert states[0].denies_all
    close(closed)
    assert protection.refuses_writes("west")
    with protection.cluster("west", "orders-app") as application:
        assert protection.topic not in application.topics.names()
        with pytest.raises(NotAuthorized):
            application.topics.configs([protection.topic])
        with pytest.raises(NotAuthorized):
            application.groups.states([f"{protection.name}-head"])


def test_what_somebody_removes_of_it_is_fenced_at_once_and_named(closed: SwitchedGroup) -> None:
    protection = closed.protection
    close(closed)
    with protection.cluster("west", "admin") as admin:
        admin.acls.remove(deny for deny in fewer(protection) if deny.principal in protection.group.principals)
    watched = look(protection)
    assert watched.outcome == "failed"
    assert "find out who removed them" in said(watched)
    assert plan.standby(protection.group) <= outside_view.denies(protection, "west")
    close(closed)
