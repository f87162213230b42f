"""Somebody else's real MirrorMaker, at least once, as it is usually run: what it leaves is found, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.waiting import wait_until
from lab.api import Lab
from support.dedicated_mirrormaker import DedicatedMirrorMaker
from support.others_copy import Content, OthersCopy

pytestmark = [pytest.mark.long]

_RECORDS = 150


def report(copy: OthersCopy) -> dict[str, Any]:
    said = copy.run("observe", "theirs", "--json")
    assert said.out, said.err
    found: dict[str, Any] = said.json
    return found


def faults(found: dict[str, Any]) -> dict[str, int]:
    return {kind: count for kind, count in found["totals"].items() if count and kind != "records_read_on_source"}


def has_checkpoint(found: dict[str, Any]) -> bool:
    return not any(row["partitions_without_position"] for row in found["groups"]) and bool(found["groups"])


def test_a_real_mirrormaker_is_good_until_a_restart_copies_everything_again(lab: Lab, tmp_path: Path) -> None:
    copy = OthersCopy(lab, tmp_path)
    copy.create("east", copy.topic, partitions=2)
    copy.allow()
    for partition in range(2):
        records = [Content(f"record {n}", key=f"k{n}") for n in range(_RECORDS)]
        copy.write("east", copy.topic, records, partition=partition)
    group = f"orders-{copy.alias}-ledger"
    copy.commit("east", group, copy.topic, dict.fromkeys(range(2), _RECORDS))
    mirror = DedicatedMirrorMaker(copy)

    with mirror.running():
        found = wait_until(
            lambda: report(copy),
            lambda seen: not faults(seen) and has_checkpoint(seen),
            clock=SystemClock(),
            seconds=150,
        )
    assert (faults(found), found["not_looked_at"], found["partitions_left_out"]) == ({}, [], [])
    assert found["verdict"] in ("ok", "warning"), found
    assert [row["verdict"] for row in found["configuration"] if row["verdict"] == "failed"] == []
    assert [(row["group"], row["skipped"]) for row in found["groups"]] == [(group, 0)]

    # It was killed before it had committed what it had copied.
    with mirror.running():
        found = wait_until(
            lambda: report(copy),
            lambda seen: seen["totals"]["duplicated"] >= 2 * _RECORDS,
            clock=SystemClock(),
            seconds=150,
        )
    assert faults(found) == {"duplicated": 2 * _RECORDS}
    assert all(row["equal"] == _RECORDS for row in found["partitions"])
    # The group has read everything: what is after the position that MirrorMaker would give it comes again.
    ends = {row["partition"]: row["target_end"] for row in found["partitions"]}
    again = sum(ends[row["partition"]] - row["existing_target_offset"] for row in found["group_positions"])
    assert {row["existing_from"] for row in found["group_positions"]} == {"checkpoint"}
    assert [(row["again"], row["skipped"]) for row in found["groups"]] == [(again, 0)]
    assert found["verdict"] == "warning"
