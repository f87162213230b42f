"""An application with a wildcard right writes the register: it is named before, and what it writes is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_dr.checks.register_checks import register_writers
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import NeedsPerson
from kafka_dr.failover.unplanned.checks import register_is_ours
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from support import outside_view
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka

_APP = "orders-app"
_EVERY_TOPIC = Acl(
    ResourceType.TOPIC, "*", PatternType.LITERAL, f"User:{_APP}", AclOperation.WRITE, AclPermission.ALLOW
)


@pytest.fixture
def group(protection: Protection) -> Iterator[SwitchedGroup]:
    """Return a stable group, on whose standby an application may write every topic."""
    adopted = SwitchedGroup.adopt(protection, records=0)
    with protection.cluster("west", "admin") as admin:
        admin.acls.add([_EVERY_TOPIC])
        try:
            yield adopted
        finally:
            admin.acls.remove([_EVERY_TOPIC])


def _forge(protection: Protection, key: str, value: bytes | None) -> None:
    with protection.cluster("west", _APP) as app:
        app.writing.append([NewRecord(TopicPartition(REGISTER_TOPIC, 0), key.encode(), value)])


def test_who_may_write_the_register_is_named_before_and_a_forged_record_is_refused_until_it_is_gone(
    group: SwitchedGroup,
) -> None:
    protection, key = group.protection, f"group/{group.name}"
    state = protection.state("west")
    with protection.clients() as clients:
        before = register_writers(GroupContext(group.name, clients), ("east", "west"))
        health = check_health(group.name, clients)
    assert before.outcome == "failed"
    assert f"on west User:{_APP} has WRITE on the topic {REGISTER_TOPIC}" in before.detail
    assert "remove these rights" in before.detail.lower()
    assert (health.outcome, before.detail in health.sentences) == ("failed", True)

    _forge(protection, key, b'{"active": "west", "phase": "stable"}')
    with protection.clients() as clients:
        refused = pytest.raises(NeedsPerson, match=rf"offset \d+ of {REGISTER_TOPIC}-0 on west is not a record of this")
        with refused as said:
            clients.register("west").read(group.name)
        assert "register_writers" in str(said.value)
        with pytest.raises(NeedsPerson, match="is not a record of this project"):
            clients.register("west").facts(group.name, "run")

    # What closes clusters continues, and a person can continue at night.
    with protection.cluster("west", "admin") as admin:
        admin.acls.remove([min(plan.write_fence(protection.group))])
    with protection.clients() as clients:
        health = check_health(group.name, clients)
    assert any("is not a record of this project" in sentence for sentence in health.sentences)
    assert plan.write_fence(protection.group) <= outside_view.denies(protection, "west")
    request = RunRequest(group.name, "at-night", "east", "west", verb="unplanned_failover", override="east is down")
    with protection.clients() as clients:
        run = Run(request, clients)
        assert run.register_state == state
        found = register_is_ours(run)
    assert (found.outcome, found.facts) == ("overridden", {"override": "east is down"})

    _forge(protection, key, None)
    with protection.clients() as clients:
        clients.register("west").copy(protection.state("east"))  # type: ignore[arg-type]
    assert protection.state("west") == state
