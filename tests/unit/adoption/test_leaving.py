"""What has to hold before one standby leaves, and what the approver reads of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.adoption.un_adopt import decision, leave, question
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState, transitions
from kafka_dr.register.roles import Role
from kafka_dr.register.state import phase_at_rest
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.request import RunRequest
from support.register_states import AT

STATE = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
SILENT = TryAgain("no answer")
THREE = ("east", "west", "north")


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> list[Flow]:
    """The flows that have to be stopped; what runs them does not answer."""
    found: list[Flow] = []
    monkeypatch.setattr(leave, "right_clusters", lambda *_: Check("right_clusters", "ok", "they are"))
    monkeypatch.setattr(leave, "_flows", lambda _: found)
    return found


def silent(*_: object) -> Any:
    raise SILENT


def leaving(held: dict[str, RegisterState | KafkaDrError | None], off: str = "", state: RegisterState = STATE) -> Any:
    request = RunRequest("orders", "run-1", target="north", leaves=True, override=off, reason="moved", verb="un_adopt")
    run: Any = SimpleNamespace(
        journal={},
        request=request,
        override=off,
        source="east",
        target="north",
        group=SimpleNamespace(name="orders"),
        record=lambda: state,
        each_cluster=lambda _: held,
        clients=SimpleNamespace(replicator=silent),
    )
    return ReleaseContext(run)


@pytest.mark.parametrize(
    ("held", "off", "outcomes", "said"),
    [
        ({"east": STATE, "west": STATE, "north": STATE}, "", ["ok"] * 6, "north answers"),
        (
            {"east": STATE, "west": STATE, "north": SILENT},
            "",
            ["ok", "ok", "ok", "failed", "ok", "ok"],
            "name north as known to be off",
        ),
        ({"east": STATE, "west": STATE, "north": SILENT}, "north has burnt", ["ok"] * 4, "north is known to be off"),
        (
            {"east": STATE, "west": STATE, "north": STATE},
            "north is off",
            ["ok", "ok", "ok", "failed"],
            "north answers, so it is not off",
        ),
        (
            {"east": STATE, "west": SILENT, "north": STATE},
            "",
            ["ok", "ok", "failed", "ok", "ok", "ok"],
            "only 1 of the 2 registers that decide without north",
        ),
        (
            {"east": STATE, "west": None, "north": SILENT},
            "north is off",
            ["ok", "ok", "failed", "ok"],
            "only 1 of the 3 registers that decide now",
        ),
    ],
)
def test_most_registers_agree_and_it_answers_or_is_known_to_be_off(
    held: dict[str, RegisterState | KafkaDrError | None],
    off: str,
    outcomes: list[str],
    said: str,
    flows: list[Flow],
) -> None:
    assert not flows
    found = list(leave.checks(leaving(held, off)))
    assert [each.outcome for each in found] == outcomes
    assert any(said in each.detail for each in found), [each.detail for each in found]


def test_what_a_lost_cluster_alone_holds_is_kept_before_it_leaves_unless_it_is_off(flows: list[Flow]) -> None:
    assert not flows
    for role in (Role.UNFENCED, Role.DIVERGED):
        roles = STATE.roles.changed({"north": role})
        lost = replace(STATE, roles=roles, phase=phase_at_rest(roles))
        (found,) = (each for each in leave.checks(leaving(dict.fromkeys(THREE, lost), state=lost)) if not each.passes)
        assert (found.name, "dr_failback" in found.detail) == ("holds_nothing_alone", True)
        off = leaving({"east": lost, "west": lost, "north": SILENT}, "north has burnt", state=lost)
        assert all(each.passes for each in leave.checks(off))


def test_a_flow_that_nothing_can_stop_is_named_before_the_group_is_held(flows: list[Flow]) -> None:
    flows.append(Flow("orders", "east", "north"))
    (found,) = (each for each in leave.checks(leaving(dict.fromkeys(THREE, STATE))) if not each.passes)
    assert (found.name, "bring it back" in found.detail) == ("flows_can_be_stopped", True)


def test_the_last_copy_does_not_leave_and_nothing_else_is_asked() -> None:
    pair = transitions.adopted("orders", active="east", standbys=["north"], run="adoption", at=AT)
    (found,) = leave.checks(leaving({}, state=pair))
    assert (found.outcome, "release the whole group" in found.detail) == ("failed", True)


@pytest.mark.parametrize("off", ["", "north has burnt down"])
def test_the_approver_reads_what_stays_and_how_many_registers_decide(off: str) -> None:
    context = leaving({}, off)
    decided = {**decision._of_leaving(context), "partitions": []}
    facts = {"decision": decided, "measurements": {"denies": [] if off else [["north", 7]]}}
    sheet = question.sheet(context.run, {"facts": facts, "checks": []})
    assert "let north leave orders?" in sheet.subject
    assert "stays adopted, with east (active), west (copy)" in sheet.moves
    (registers,) = sheet.details
    assert "needs 2 of 3 registers now; without north that of its target decides alone" in registers
    assert any("has to be off for ever" in each for each in sheet.warnings) is bool(off)
    assert ("Then its DENYs are lifted" in sheet.moves) is not bool(off)
    assert any(off in said for _, said in sheet.words)
    (costs,) = question.costs(context.run, facts)
    assert "orders would have one standby less" in costs
