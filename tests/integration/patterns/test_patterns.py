"""Topics by pattern on real clusters: fenced before they are copied, there and back, whenever they are created."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.command_line.group_status import status_of
from kafka_dr.failover.planned import fence_source, verify
from kafka_dr.fencing import plan
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.reconcile_flows import reconcile_flows
from kafka_dr.watch_results import KeptResult, WatchResultStore
from lab import rights
from support.changing_application import allowed
from support.patterned_group import PatternedGroup
from support.protection import Protection
from support.switched_group import failed

pytestmark = pytest.mark.kafka
REPLICATOR = {"User:replicator"}


@pytest.fixture
def group(protection: Protection) -> PatternedGroup:
    """A group with a pattern, adopted while one topic existed that it matches and one that it does not."""
    made = PatternedGroup.declared(protection)
    made.write("east", made.create("east", "eu.orders"))
    made.write("east", made.create("east", "asia.orders"))
    with protection.clients() as clients:
        adopt(made.name, clients, "adoption")
    return made


def look(group: PatternedGroup, *, at_flows: bool = False) -> WatchResult:
    with group.protection.clients() as clients:
        if at_flows:
            return reconcile_flows(group.name, clients)
        found = check_health(group.name, clients)
        kept = KeptResult(group.name, "health", found.outcome, found.sentences, datetime.now(UTC), facts=found.facts)
        WatchResultStore(clients.evidence_root).keep(kept)
        return found


class Fences:
    """The plan of a fence, at whose first use somebody creates a topic; what was looked up before lacks it."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = [meanwhile]

    def __getattr__(self, name: str) -> object:
        while self._meanwhile:
            self._meanwhile.pop()()
        return getattr(plan, name)


def shown(group: PatternedGroup) -> list[dict[str, str]]:
    """Return the rows that ``status`` shows of the patterns."""
    with group.protection.clients() as clients:
        found: list[dict[str, str]] = status_of(group.name, clients).as_json()["patterns"]["matched_topics"]
    return found


def test_a_group_moves_although_its_application_may_create_what_the_pattern_matches(group: PatternedGroup) -> None:
    orders, new = f"{group.begin}eu.orders", f"{group.begin}eu.new"
    app, topic = f"User:{rights.ORDERS_APP}", ResourceType.TOPIC
    may = (
        Acl(topic, group.begin, PatternType.PREFIXED, app, AclOperation.ALL, AclPermission.ALLOW),
        Acl(topic, new, PatternType.LITERAL, app, AclOperation.CREATE, AclPermission.ALLOW),
    )
    with allowed(group.protection, "east", *may), allowed(group.protection, "west", *may):
        look(group, at_flows=True)
        group.wait_copied_to("west", orders)
        assert look(group).outcome == "ok"
        group.go(StepName.REPORT)
    assert (group.is_writable("west", orders), group.is_writable("east", orders)) == (True, False)


def test_a_topic_is_fenced_before_it_is_copied_and_moves_there_and_back(group: PatternedGroup) -> None:
    orders, other = f"{group.begin}eu.orders", f"{group.begin}asia.orders"
    assert not group.exists("west", orders)
    assert group.denied("west").keys() == {orders}, "its copy would be open for a while"
    assert group.denied("east") == {orders: REPLICATOR}
    assert look(group, at_flows=True).outcome == "ok"
    group.wait_copied_to("west", orders)
    assert not group.exists("west", other)

    carts = group.create("east", "us.carts")
    group.write("east", carts)
    waiting = look(group, at_flows=True)
    assert (
        f"1 topic that patterns match is not copied before dr_health has fenced them: {carts}" in waiting.sentences[-2]
    )
    assert not group.exists("west", carts)
    seen = look(group)
    assert any(f"had no DENYs on west until now: {carts}" in said for said in seen.sentences), seen
    assert [row["topic"] for row in seen.facts["matched_topics"]] == [orders, carts]
    assert {row["topic"] for row in shown(group) if row.get("since")} == {orders, carts}
    assert group.denied("west").keys() == {orders, carts}
    look(group, at_flows=True)
    group.wait_copied_to("west", carts)
    assert not group.is_writable("west", carts)
    assert look(group).outcome == "ok"

    group.go(StepName.REPORT)
    assert (group.is_writable("west", carts), group.is_writable("east", carts)) == (True, False)
    assert group.denied("west") == {orders: REPLICATOR, carts: REPLICATOR}
    stock = group.create("west", "eu.stock")
    group.write("west", stock)
    look(group)
    look(group, at_flows=True)
    group.wait_copied_to("east", stock)
    group.write("west", orders)
    group.wait_equal()
    group.go(StepName.REPORT)
    assert all(group.is_writable("east", name) for name in (orders, carts, stock))
    assert not any(group.is_writable("west", name) for name in (orders, carts, stock))
    assert group.denied("east") == dict.fromkeys((orders, carts, stock), REPLICATOR)
    assert look(group).outcome == "ok"


@pytest.mark.long
def test_a_topic_that_appears_in_the_middle_of_a_run_ends_it_before_the_hand_over_and_is_fenced_after_it(
    group: PatternedGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection, orders = group.protection, f"{group.begin}eu.orders"
    look(group, at_flows=True)
    group.wait_copied_to("west", orders)

    # While the fence is built: it is fenced with the others, and has no copy, so nothing is handed over.
    request = group.go(StepName.CLAIM)
    monkeypatch.setattr(fence_source, "plan", Fences(lambda: group.create("east", "us.early")))
    with protection.clients() as clients:
        record = failed(StepName.FENCE_SOURCE, request, clients)
    early = f"{group.begin}us.early"
    assert f"{early}-0 on east is missing on west" in record.detail
    assert not group.is_writable("east", early)
    group.roll_back(request)
    assert group.is_writable("east", early)
    assert group.denied("east") == {orders: REPLICATOR}, "what the fence added is gone, and no more"
    look(group)
    group.write("east", early)
    look(group, at_flows=True)
    group.wait_copied_to("west", early)

    # After the fence was proven: an application can write to it, so the source is not handed over.
    request = group.go(StepName.CUT_OVER_GROUPS)
    late = group.create("east", "us.late")
    assert group.is_writable("east", late)
    with protection.clients() as clients:
        record = failed(StepName.OPEN_TARGET, request, clients)
    assert f"{late}-0" in record.detail
    group.roll_back(request)
    look(group)
    group.write("east", late)
    look(group, at_flows=True)
    group.wait_copied_to("west", late)

    # After the hand-over, and while verify looks: it is fenced, and the report names it.
    request = group.go(StepName.FLIP_ROUTE)
    last, real = f"{group.begin}us.last", verify._fence_new_topics
    monkeypatch.setattr(verify, "_fence_new_topics", lambda run: group.create("east", "us.last") and real(run))
    with protection.clients() as clients:
        verified = run_step(StepName.VERIFY, request, clients)
        assert verified.facts["topics_fenced_late"] == [last]
        assert not group.is_writable("east", last)
        run_step(StepName.START_REVERSE_FLOW, request, clients)
        with pytest.raises(StepFailed, match=f"{last} was created"):
            run_step(StepName.REPORT, request, clients)
    assert group.is_writable("west", orders)
