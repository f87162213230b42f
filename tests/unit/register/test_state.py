from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import get_args

import pytest

from kafka_dr.errors import NeedsPerson
from kafka_dr.register import Phase, RegisterState, Verb, highest
from kafka_dr.register.state import UnknownSchema
from support.register_states import AT, a_state


def stored(schema: int) -> list[bytes]:
    """Return the records of a group that goes through every phase, as they were written."""
    return Path(__file__).with_name("stored").joinpath(f"schema_{schema}.jsonl").read_bytes().splitlines()


def test_epoch_counts_before_revision() -> None:
    older, newer = a_state(epoch=3, revision=9), a_state(epoch=4, revision=0)
    assert highest({"east": older, "west": newer}) == newer
    assert highest({"east": newer, "west": older}) == newer


def test_revision_decides_within_an_epoch() -> None:
    older, newer = a_state(epoch=3, revision=1), a_state(epoch=3, revision=2)
    assert highest({"east": newer, "west": older}) == newer


def test_a_cluster_without_a_record_does_not_count() -> None:
    assert highest({"east": None, "west": a_state()}) == a_state()


def test_without_any_record_a_group_is_not_adopted() -> None:
    assert highest({"east": None, "west": None}) is None
    assert highest({}) is None


def test_equal_records_in_both_registers_are_no_contradiction() -> None:
    assert highest({"east": a_state(), "west": a_state()}) == a_state()


def test_different_records_of_the_same_order_need_a_person() -> None:
    other = a_state(active="west", standby="east")
    with pytest.raises(NeedsPerson, match=r"contradict each other about orders: epoch 1 revision 0 .* east active"):
        highest({"east": a_state(), "west": other})


def test_a_newer_record_ends_a_contradiction() -> None:
    settled = a_state(epoch=2)
    assert highest({"a": a_state(), "b": a_state(active="west", standby="east"), "c": settled}) == settled


def test_a_record_reads_back_as_it_was_written() -> None:
    state = a_state(
        phase=Phase.SWITCHING, verb="planned_failover", evidence_sha256="ab", quarantine=("orders.x-0 [3, 9)",)
    )
    assert RegisterState.from_json(state.to_json()) == state


def test_who_executes_the_run_reads_back() -> None:
    state = a_state(attempt=3, executor="worker-1:7:ab", attempt_at=AT)
    assert RegisterState.from_json(state.to_json()) == state


@pytest.mark.parametrize(("first", "second"), list(zip(stored(1), stored(2), strict=True)))
def test_a_stored_record_of_the_first_schema_is_read_and_the_next_write_is_of_the_second(
    first: bytes, second: bytes
) -> None:
    state = RegisterState.from_json(first)
    assert RegisterState.from_json(second) == state
    assert state.to_json() == second
    assert (state.active, state.standby) == tuple(json.loads(first)[name] for name in ("active", "standby"))


@pytest.mark.parametrize("record", stored(2))
def test_a_record_is_of_the_third_schema_only_if_a_fence_may_deny_every_operation(record: bytes) -> None:
    state = RegisterState.from_json(record)
    denying = replace(state, denies_all=True)
    assert not state.denies_all
    assert state.to_json() == record
    assert json.loads(denying.to_json()) == {**json.loads(record), "schema_version": 3, "denies_all": True}
    assert RegisterState.from_json(denying.to_json()) == denying


@pytest.mark.parametrize("wrong", [{"denies_all": "yes"}, {"denies_all": None}, {"denies_all": 1}])
def test_a_record_of_the_third_schema_says_whether_a_fence_may_deny_every_operation(wrong: dict[str, object]) -> None:
    values = json.loads(replace(a_state(), denies_all=True).to_json())
    for broken in (values | wrong, {name: value for name, value in values.items() if name != "denies_all"}):
        with pytest.raises(NeedsPerson, match="cannot be read"):
            RegisterState.from_json(json.dumps(broken).encode())


def test_the_stored_records_are_of_every_phase_and_verb() -> None:
    found = [RegisterState.from_json(each) for each in stored(1)]
    assert {state.phase for state in found} == set(Phase)
    assert {state.verb for state in found} == {*get_args(Verb)} - {"drill"}


def test_the_same_state_has_the_same_bytes_in_every_time_zone() -> None:
    elsewhere = a_state(at=AT.astimezone(timezone(timedelta(hours=5))))
    assert elsewhere.to_json() == a_state().to_json()
    assert RegisterState.from_json(elsewhere.to_json()) == elsewhere


def test_a_record_of_a_newer_schema_needs_a_person() -> None:
    newer = json.dumps({**json.loads(a_state().to_json()), "schema_version": 4}).encode()
    with pytest.raises(UnknownSchema, match="schema 4, this program knows 3: use the version"):
        RegisterState.from_json(newer)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        *(json.dumps(json.loads(a_state().to_json()) | change).encode() for change in (
            {"phase": "half"}, {"at": "yesterday"}, {"quarantine": None}, {"epoch": "7"}, {"at": "2026-01-01T00:00:00"},
        )),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_read_needs_a_person(broken: bytes) -> None:
    with pytest.raises(NeedsPerson, match="cannot be read"):
        RegisterState.from_json(broken)
