"""What is not a record of this project is recognised, and what is one is not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kafka_dr.errors import NeedsPerson
from kafka_dr.register import RegisterState, records
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.record_shapes import ForeignRecord, wrong_shape
from kafka_dr.register.topic_settings import settings, unlike
from support.register_states import a_state

STATE = a_state(group="orders")


def test_every_record_that_this_project_writes_is_recognised() -> None:
    written = [
        (records.group_key("orders"), STATE.to_json()),
        *records.fact_records("orders", "manual__2026-03-14T15:09:26+00:00", "ends", {"n": 1}),
        *records.fact_records("orders", "run/with/slashes", "ends", {"ends": ["x" * 1000] * 1200}),
        *records.fence_records("orders", "east", AddedAcls()),
    ]
    assert [wrong_shape(key, value) for key, value in written] == [""] * len(written)
    assert wrong_shape(b"whatever", None) == "", "a tombstone removes a record"


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (None, b"{}", "it has no key"),
        (b"\xff", b"{}", "no record of this project has such a key"),
        (b"topic/orders", b"{}", "no record of this project has such a key"),
        (b"run/orders", b"{}", "no record of this project has such a key"),
        (b"fence/orders/east", b"[]", "its value is not a JSON object"),
        (b"run/orders/r/ends", b"", "its value is not a JSON object"),
        (b"group/orders", b"{}", "cannot be read"),
        (b"group/orders", replace(STATE, group="billing").to_json(), "it is the record of the group 'billing'"),
    ],
)
def test_anything_else_is_named(key: bytes | None, value: bytes, problem: str) -> None:
    assert problem in wrong_shape(key, value)


@pytest.mark.parametrize(
    "change",
    [
        *({"epoch": -1}, {"epoch": True}, {"revision": -1}, {"verb": "steal"}, {"run": 7}, {"schema_version": "2"}),
        *({"schema_version": 0}, {"schema_version": True}, {"roles": ["east"]}, {"roles": {"east": "copy"}}),
        *({"roles": {"east": "active", "west": role}} for role in ("active", "serving", "unfenced", "captain")),
        *({"schema_version": 1, "active": "east", "standby": each} for each in ("east", 7, None)),
    ],
    ids=str,
)
def test_a_state_with_values_that_are_never_written_is_none(change: dict[str, object]) -> None:
    stored = {**json.loads(STATE.to_json()), **change}
    assert "cannot be read" in wrong_shape(b"group/orders", json.dumps(stored).encode())


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 4, "phase": "", "roles": None},
        {"roles": {"east": "serving", "west": "evacuated"}},
    ],
    ids=["another schema", "members"],
)
def test_a_record_of_a_newer_version_is_no_foreign_record_and_is_not_read(change: dict[str, object]) -> None:
    newer = json.dumps({**json.loads(STATE.to_json()), **change}).encode()
    assert wrong_shape(b"group/orders", newer) == ""
    with pytest.raises(NeedsPerson, match="use the version of this project that wrote it"):
        RegisterState.from_json(newer)


@pytest.mark.parametrize(
    ("key", "concerned"),
    [
        (b"group/orders", True),
        (b"run/orders/r/f", True),
        (b"fence/orders/east", True),
        (b"group/orders2", False),
        (b"run/orders2/r/f", False),
        (b"else", True),
        (None, True),
    ],
)
def test_a_record_of_another_group_is_that_groups_matter(key: bytes | None, concerned: bool) -> None:
    assert ForeignRecord("offset 7", key, "").concerns("orders") is concerned


def test_the_topic_is_replicated_and_nothing_in_it_expires() -> None:
    assert unlike(settings(replicas=3), replicas=3) == {}
    assert settings(replicas=3)["min.insync.replicas"] == "2"
    found = {**settings(replicas=1), "cleanup.policy": "delete", "max.message.bytes": "9999999"}
    assert unlike(found, replicas=3) == {"cleanup.policy": ("delete", "compact"), "min.insync.replicas": ("1", "2")}
