"""A group with two standbys: both are copied and watched, each can be the target, and no record is lost or doubled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.command_line.group_status import status_of
from kafka_dr.errors import Refused
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from support import outside_view
from support.by_hand import done_by_hand
from support.kafka_tools import tools_in
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long]
#: How long writes may be refused next to a standby that hangs, in seconds. It is waited for 2 s, and then 0.3 s a look.
SLOW = 15.0
SECONDS = 120.0


def test_both_standbys_are_copied_and_watched(group: GroupOfThree) -> None:
    group.protection.produce("east", 100)
    group.wait_equal()
    assert group.roles == {"east": "active", "west": "copy", "north": "copy"}
    for standby in ("west", "north"):
        assert group.protection.refuses_writes(standby)
    with group.protection.clients() as clients:
        canary, health, status = watch_canary(group.name, clients), check_health(group.name, clients), None
        status = status_of(group.name, clients)
    assert canary.outcome == "ok", canary.sentences
    assert {row["standby"]: row["verdict"] for row in canary.facts["standbys"]} == {
        "west": "on_time",
        "north": "on_time",
    }
    assert health.outcome == "ok", health.sentences
    running = {check.name for check in status.flows if check.facts.get("state") == "running"}
    assert running == {f"dr.{group.name}.east-to-west", f"dr.{group.name}.east-to-north"}


def test_a_run_has_to_name_which_standby_it_moves_to(group: GroupOfThree) -> None:
    request = RunRequest(group.name, "nowhere", reason="a test")
    with group.protection.clients() as clients, pytest.raises((Refused, StepFailed), match="name the target"):
        run_step(StepName.PREFLIGHT, request, clients)


def test_it_moves_round_all_clusters_and_a_standby_that_lags_gets_each_record_once(group: GroupOfThree) -> None:
    protection, produced = group.protection, 100
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    moves = [("east", "west", "north"), ("west", "north", "east"), ("north", "east", "west"), ("east", "north", "west")]
    for number, (source, target, other) in enumerate(moves):
        if number != len(moves) - 1:
            group.stop_flow(source, other)
        produced += protection.produce(source, 150)
        protection.commit(source, f"{group.name}-slow", {first: 17, second: 33})
        protection.wait_copied(source=source, target=target)
        unread = outside_view.next_values(
            protection, source, outside_view.committed(protection, source)[f"{group.name}-slow"]
        )
        group.move(source, target)
        assert group.roles == {target: "active", source: "copy", other: "pending"}
        assert protection.state(other) == group.state, "dr_health has to bring it nothing"
        assert protection.takes_writes(target)
        assert protection.refuses_writes(source)
        assert protection.refuses_writes(other)
        moved = outside_view.committed(protection, target)[f"{group.name}-slow"]
        assert outside_view.next_values(protection, target, moved) == unread
        produced += protection.produce(target, 50)

        found = group.flows()
        assert found.outcome == "ok", found.sentences
        assert group.roles == {target: "active", source: "copy", other: "copy"}
        log = group.wait_equal()
        values = [value for p in (first, second) for _, _, value, _ in log[p]]
        assert len(values) == len(set(values)) == produced


def test_it_is_moved_by_hand_and_the_further_standby_is_copied_from_the_new_active_cluster(
    three: Lab, tmp_path: Path
) -> None:
    group = GroupOfThree.adopt(three, tmp_path)
    source, protection = group.state.active, group.protection
    target, other = group.state.standbys
    protection.produce(source, 30)
    log = group.wait_equal()
    before = sum(len(log[TopicPartition(protection.topic, number)]) for number in (0, 1))
    way = f"move {group.name} from {source} to {target}"
    done_by_hand(protection, tmp_path / "files", tools_in(tmp_path / "bin"), way)
    assert group.state.active == target
    assert protection.state(source) == protection.state(other) == group.state
    assert protection.takes_writes(target)
    assert protection.refuses_writes(source)
    assert protection.refuses_writes(other)
    protection.produce(target, 20)
    with protection.clients() as clients:
        check_health(group.name, clients)
    found = group.flows()
    assert found.outcome == "ok", found.sentences
    assert group.roles == {target: "active", source: "diverged", other: "copy"}
    group.wait_equal_between(target, other)
    log = group.contents(other)
    assert sum(len(log[TopicPartition(protection.topic, number)]) for number in (0, 1)) == before + 20


def test_a_further_standby_that_hangs_delays_no_failover_and_is_copied_when_it_is_back(group: GroupOfThree) -> None:
    source, protection = group.state.active, group.protection
    target, other = group.state.standbys
    protection.produce(source, 30)
    group.wait_equal()
    with group.hanging(other):
        protection.produce(source, 20)
        records = {record.step: record.seconds for record in group.move(source, target)}
        stopped = sum(
            records[step] for step in ("fence_source", "drain", "stop_flow", "cut_over_groups", "open_target")
        )
        assert stopped < SLOW, records
        state = protection.state(target)
        assert state is not None
        assert (state.active, state.roles.of(other)) == (target, "pending")
        assert protection.takes_writes(target)
        protection.produce(target, 10)
        found = group.flows()
        assert found.outcome == "unknown", found.sentences
    deadline = time.monotonic() + SECONDS
    while (found := group.flows()).outcome != "ok":
        assert time.monotonic() < deadline, found.sentences
        time.sleep(1)
    assert group.roles == {target: "active", source: "copy", other: "copy"}
    group.wait_equal()


def test_all_standbys_are_released_together_and_their_flows_copy_on(three: Lab, tmp_path: Path) -> None:
    group = GroupOfThree.adopt(three, tmp_path)
    protection = group.protection
    produced = protection.produce("east", 40)
    records = group.release()
    assert {record.outcome for record in records.values()} == {"done"}
    assert group.state.phase == "released"
    for cluster in ("east", "west", "north"):
        assert protection.state(cluster) == group.state
        assert protection.takes_writes(cluster)
        assert not outside_view.denies(protection, cluster)
    produced += protection.produce("east", 20)
    log = group.wait_equal()
    assert sum(len(log[TopicPartition(protection.topic, number)]) for number in (0, 1)) == produced
