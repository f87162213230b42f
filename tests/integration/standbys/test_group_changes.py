"""A standby is added to a group that is written to: all is copied to it, each record once, and it can take over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.adoption import add_standby
from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson, TryAgain
from kafka_dr.health.health_check import check_health
from kafka_dr.register.kafka_register import KafkaRegister
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import Protection
from support.steady_writer import writing
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long]
PAIR, THREE = ("east", "west"), ("east", "west", "north")


def pair(lab: Lab, folder: Path) -> GroupOfThree:
    """Return a group that is adopted on two of the three clusters, and copied."""
    made = GroupOfThree(Protection(lab, folder, changes={"clusters": PAIR}))
    made.protection.create()
    with made.protection.clients() as clients:
        adopt(made.name, clients, "adoption")
    assert made.flows().outcome == "ok"
    return made


def grow(group: GroupOfThree, run: str, *, dry_run: bool = False) -> StepRecord:
    with group.protection.clients() as clients:
        return adopt(group.name, clients, run, dry_run=dry_run)


def each_once(group: GroupOfThree, count: int) -> None:
    log = group.wait_equal()
    values = [value for number in (0, 1) for _, _, value, _ in log[TopicPartition(group.protection.topic, number)]]
    assert len(values) == len(set(values)) == count


def test_a_standby_is_added_while_the_group_is_written_to_and_can_take_over(three: Lab, tmp_path: Path) -> None:
    group = pair(three, tmp_path)
    protection = group.protection
    produced = protection.produce("east", 100)
    before = group.state
    with writing(protection) as writer:
        protection.changes["clusters"] = THREE
        dry = grow(group, "dry", dry_run=True)
        assert (dry.outcome, group.state) == ("would_do", before), dry
        assert any("north is a standby, pending until dr_flows copies to it" in each for each in dry.intent)
        record = grow(group, "grow")
        assert record.outcome == "done", record
        assert group.roles == {"east": "active", "west": "copy", "north": "pending"}
        assert {protection.state(name) for name in THREE} == {group.state}
        assert protection.refuses_writes("north")
        assert group.flow_status("east", "west").startswith("running")

        with protection.changed(clusters=PAIR):
            request = RunRequest(group.name, "older", source="east", target="west", reason="a test")
            with protection.clients() as clients:
                with pytest.raises((NeedsPerson, StepFailed), match="does not declare north for it"):
                    run_step(StepName.PREFLIGHT, request, clients)
                health = check_health(group.name, clients)
            assert health.outcome == "failed"
            assert any("does not declare north for it" in each for each in health.sentences), health.sentences

        found = group.flows()
        assert found.outcome == "ok", found.sentences
        assert group.roles == {"east": "active", "west": "copy", "north": "copy"}
    produced += writer.acknowledged
    each_once(group, produced)
    with protection.clients() as clients:
        health = check_health(group.name, clients)
    assert health.outcome == "ok", health.sentences
    again = grow(group, "again")
    assert (again.outcome, group.roles["north"]) == ("passed", "copy")

    protection.wait_copied(source="east", target="north")
    group.move("east", "north")
    assert group.roles == {"north": "active", "east": "copy", "west": "pending"}
    assert protection.takes_writes("north")
    assert protection.refuses_writes("east")
    produced += protection.produce("north", 50)
    found = group.flows()
    assert found.outcome == "ok", found.sentences
    each_once(group, produced)


def test_a_run_that_dies_anywhere_is_run_again_and_nothing_counts_before_the_record(
    three: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = pair(three, tmp_path)
    produced = group.protection.produce("east", 40)
    before = group.state
    group.protection.changes["clusters"] = THREE

    def dies(*_: Any, **__: Any) -> Any:
        raise TryAgain("the process has died")

    # After the fence; after the seed; after the register that decides.
    for number, (place, name, changed) in enumerate(
        ((add_standby, "first_flow", False), (add_standby, "set_in_order", False), (KafkaRegister, "copy", True))
    ):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, dies)
            with pytest.raises((StepFailed, TryAgain), match="the process has died"):
                grow(group, f"dies-{number}")
        assert group.protection.refuses_writes("north")
        assert (group.state != before) is changed
        assert group.protection.takes_writes("east")
        produced += group.protection.produce("east", 10)
        if not changed:
            assert group.flows().outcome == "ok"
            assert group.state == before
    assert group.protection.state("west") == before
    assert grow(group, "again").outcome == "passed"
    assert {group.protection.state(name) for name in THREE} == {group.state}
    assert group.flows().outcome == "ok"
    assert group.roles == {"east": "active", "west": "copy", "north": "copy"}
    each_once(group, produced)


def test_a_cluster_that_holds_records_of_its_own_is_refused_and_nothing_is_changed(three: Lab, tmp_path: Path) -> None:
    group = pair(three, tmp_path)
    protection, before = group.protection, group.state
    protection.produce("north", 5)
    protection.changes["clusters"] = THREE
    with pytest.raises(StepFailed, match="hold records that"):
        grow(group, "grow")
    assert group.state == before
    assert not outside_view.denies(protection, "north")
