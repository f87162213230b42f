"""Of several standbys that answer, the one whose newest audit is the oldest is audited next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.checks.audit_checks import flow_to_audit
from kafka_dr.errors import NeedsPerson, TryAgain
from kafka_dr.register import RegisterState, transitions
from kafka_dr.register.roles import Role
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.at_rest import WatchResult
from support.manual_clock import ManualClock
from support.register_states import AT
from support.sentences import assert_sentence

STANDBYS = ("west", "north")
STATE = transitions.adopted("orders", active="east", standbys=STANDBYS, run="adoption", at=AT)


def audited(root: Path, standby: str, minutes: int, kind: AuditKind = AuditKind.LAG) -> None:
    at = AT + timedelta(minutes=minutes)
    ResultStore(root).write(AuditResult(kind, "orders", "east", standby, 1, AuditVerdict.GREEN, at, "as it was"))


def next_one(root: Path, *silent: str) -> str:
    found = chosen(root, *silent)
    assert isinstance(found, Flow)
    assert found.source == "east"
    return found.target


def chosen(root: Path, *silent: str, state: RegisterState = STATE) -> Flow | WatchResult:
    def read(cluster: str) -> RegisterState:
        if cluster in silent:
            raise TryAgain(f"{cluster} does not answer")
        return state

    group = SimpleNamespace(name="orders", clusters=("east", *STANDBYS), topic_patterns=(), copies_named="")
    group.flow_group = lambda _: group.name
    clients = SimpleNamespace(
        topology=SimpleNamespace(group=lambda _: group),
        clock=ManualClock(),
        register=lambda cluster: SimpleNamespace(read=lambda _: read(cluster)),
        evidence_root=root,
    )
    return flow_to_audit("orders", cast("Any", clients), AuditKind.LAG)


def test_each_standby_has_its_turn(tmp_path: Path) -> None:
    turns = []
    for minute in range(4):
        turns.append(next_one(tmp_path))
        audited(tmp_path, turns[-1], minute)
    assert sorted(turns[:2]) == sorted(STANDBYS)
    assert turns[2:] == turns[:2]


def test_a_standby_that_waits_for_its_flow_has_no_turn(tmp_path: Path) -> None:
    pending = {name: replace(STATE, roles=STATE.roles.changed({name: Role.PENDING})) for name in STANDBYS}
    assert {name: chosen(tmp_path, state=each) for name, each in pending.items()} == {
        "west": Flow("orders", "east", "north"),
        "north": Flow("orders", "east", "west"),
    }
    both = replace(STATE, roles=STATE.roles.changed(dict.fromkeys(STANDBYS, Role.PENDING)))
    found = chosen(tmp_path, state=both)
    assert isinstance(found, WatchResult)
    assert found.outcome == "left_alone"
    assert_sentence(found.sentences)


def test_an_audit_of_another_kind_is_no_turn(tmp_path: Path) -> None:
    audited(tmp_path, "west", 1)
    audited(tmp_path, "north", 2, AuditKind.CHECKSUM)
    assert next_one(tmp_path) == "north"


def test_a_standby_that_does_not_answer_holds_up_no_other(tmp_path: Path) -> None:
    audited(tmp_path, "west", 1)
    assert next_one(tmp_path, "north") == "west"
    # Of most registers nobody knows whether the group was moved meanwhile.
    with pytest.raises(NeedsPerson, match="north and west do not answer"):
        next_one(tmp_path, *STANDBYS)
