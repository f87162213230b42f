"""Registers that have gone back do not outvote a move that the route knows of.

West was opened by an unplanned failover from east, in its register and in that of north. Then north's register is
restored from an older copy, west is cut off, and east is back: two of three say that east is active.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.checks import route_ahead
from kafka_dr.checks.route_ahead import ahead, require_not_ahead, route_epoch, route_is_not_ahead
from kafka_dr.errors import KafkaDrError, NeedsPerson, TryAgain
from kafka_dr.failover.planned import checks as planned
from kafka_dr.failover.unplanned import checks as unplanned
from kafka_dr.failover.unplanned import claim
from kafka_dr.health.report_only import judge_route
from kafka_dr.register import RegisterState, transitions
from kafka_dr.routing import Route
from kafka_dr.runs.register_read import Answers, decided
from kafka_dr.watch import reconcile_flows
from support.memory_register import MemoryRegister
from support.register_states import AT

SIGNED: dict[str, Any] = {"run": "disaster", "evidence_sha256": "", "approved_by": "alice", "at": AT}
ADOPTED = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
CLAIM = transitions.claimed_unplanned(ADOPTED, source="east", target="west", highest_epoch=1, **SIGNED)
MOVED = transitions.without_source(
    transitions.handed_over(CLAIM, run="disaster", at=AT), run="disaster", fenced=False, at=AT
)
#: What the registers say that answer: north's was restored.
RESTORED: Answers = {"east": ADOPTED, "north": ADOPTED, "west": TryAgain("west does not answer")}


def route(epoch: int = MOVED.epoch, active: str = "west") -> Route:
    return Route("orders", active, "localhost:1", epoch, AT)


def context(found: Route | KafkaDrError | None, state: RegisterState = ADOPTED) -> Any:
    def read() -> Route | None:
        if isinstance(found, KafkaDrError):
            raise found
        return found

    clients = SimpleNamespace(router=lambda _: SimpleNamespace(read=read))
    return SimpleNamespace(
        clients=clients, group=SimpleNamespace(name="orders"), record=lambda: state, source=state.active
    )


def test_two_of_three_registers_outvote_what_only_the_third_one_knows_and_the_route_says_so() -> None:
    standing = decided("orders", RESTORED)
    assert standing == ADOPTED
    said = ahead(route(), ADOPTED)
    assert said.startswith(
        f"the route of orders names west since epoch {MOVED.epoch}, and the registers that answer know of epoch 1 at "
        "most, with east active: "
    )
    # Once the third one answers, it counts, and nothing is ahead.
    whole = decided("orders", {**RESTORED, "west": MOVED})
    assert whole == MOVED
    assert ahead(route(), MOVED) == ""


@pytest.mark.parametrize("found", [None, TryAgain("the storage hangs"), route(1, "east")])
def test_a_route_that_is_not_known_or_is_older_says_nothing(found: Route | KafkaDrError | None) -> None:
    require_not_ahead(context(found), ADOPTED)
    assert route_is_not_ahead(context(found), ADOPTED, override="").outcome == "ok"
    assert route_epoch(context(found)) in (0, 1)


def test_nothing_is_copied_on_the_word_of_registers_that_went_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """East's flow to north would bring what was never copied to west."""
    world = context(route())
    world.read_register_state = lambda: ADOPTED
    monkeypatch.setattr(reconcile_flows, "GroupContext", lambda *_: world)
    monkeypatch.setattr(reconcile_flows, "of_each_standby", lambda *_: pytest.fail("a flow was looked at"))
    with pytest.raises(NeedsPerson, match="was restored from an older copy"):
        reconcile_flows.reconcile_flows("orders", cast("Any", None))


def test_no_failover_begins_on_their_word_unless_a_person_overrides_it() -> None:
    found = route_is_not_ahead(context(route()), ADOPTED, override="")
    assert (found.name, found.outcome) == (route_ahead.NAME, "failed")
    assert route_ahead.NAME in unplanned._QUESTIONS
    allowed = route_is_not_ahead(context(route()), ADOPTED, override="west burned down")
    assert (allowed.outcome, allowed.facts) == ("overridden", {"override": "west burned down"})
    # The route of a planned failover has to name the source, and that at no later epoch.
    assert planned._route_follows(context(route(1, "east"))).outcome == "ok"
    assert planned._route_follows(context(route(2, "east"))).outcome == "failed"


def test_an_epoch_that_the_route_has_is_not_used_again() -> None:
    """Else the run would open a cluster, and find a route that is ahead of it after that."""
    run = context(route())
    run.journal, run.history, run.seen, run.epoch = {}, {}, {}, 1
    run.request, run.target = SimpleNamespace(run="next"), "north"
    signed = {key: value for key, value in SIGNED.items() if key != "run"}
    found = claim._begun(run, {**signed, "run": "next"})
    assert found.epoch > MOVED.epoch
    run = context(TryAgain("the storage hangs"))
    run.journal, run.history, run.seen, run.epoch = {}, {}, {}, 1
    run.request, run.target = SimpleNamespace(run="next"), "north"
    assert claim._begun(run, {**signed, "run": "next"}).epoch < MOVED.epoch


def test_health_names_it() -> None:
    found = judge_route(ADOPTED, route())
    assert found.outcome == "failed"
    assert "restored from an older copy" in found.detail


def test_a_register_that_was_restored_gets_the_newest_record_again() -> None:
    register = MemoryRegister()
    register.copy(ADOPTED)
    assert register.copy(MOVED) == MOVED
