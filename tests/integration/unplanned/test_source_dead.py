"""The source is dead or hangs, and so does Connect: the group works on the target while they still do."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from kafka_dr.topology.readers import GroupsPolicy
from support import outside_view
from support.command_line import CommandLine, read_until
from support.disaster import Disaster
from support.held_back import held_back

pytestmark = pytest.mark.kafka


def test_a_killed_source_is_given_up_and_its_loss_is_known(disaster: Disaster) -> None:
    group = disaster.group
    disaster.archive_syncs()
    disaster.produce_what_never_crosses(30)

    records = disaster.go(StepName.REPORT)

    state = disaster.state()
    assert (state.phase, state.active, state.epoch) == (Phase.UNFENCED, "west", 1000)
    assert group.protection.takes_writes("west")
    report = records[StepName.REPORT].facts
    assert report["predicted_loss"]["at_least_records"] == 30
    # Each offset is counted on the target, so no record that was known to be read is read again.
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    assert {row["class"] for row in records[StepName.CUT_OVER_GROUPS].facts["groups"]} == {"bounded"}
    seed = disaster.journal(state.run)["flow_seed"]
    assert (seed["source"], seed["held"], seed["target_positions"]) == ("west", True, [])


def test_a_source_and_a_connect_that_hang_are_not_waited_for_and_later_writes_to_the_source_are_counted(
    disaster: Disaster,
) -> None:
    group = disaster.group
    head, slow = f"{group.name}-head", f"{group.name}-slow"
    group.protection.changes["groups_policy"] = GroupsPolicy(start_of={head: "latest", slow: "earliest"})
    disaster.remember()
    with disaster.hanging("west-connect"):
        with disaster.hanging(disaster.broker):
            records = disaster.go(StepName.VERIFY)
            assert group.protection.takes_writes("west")
            run = disaster.state().run
            before = group.protection.produce("west", 10)
        # The source wakes up: its replication cannot write any more, and it is fenced before the run ends.
        group.wait_for_register("east")
        group.protection.produce("east", 5)
        request = disaster.request_of(run)
        record = disaster.step(StepName.SETTLE, request)
        report = disaster.step(StepName.REPORT, request)

    assert before == 10
    assert record.facts["source_side"]["fenced"], record.facts
    assert disaster.state().phase is Phase.DIVERGED
    assert group.protection.refuses_writes("east")
    returned = disaster.journal(run)["returned"]
    assert (returned["cluster"], returned["since_opening"], returned["beyond_frontier"]) == ("east", 5, 5)
    assert report.facts["returned"] == returned
    # A connector that is not seen stopped is reported as not stopped.
    assert not report.facts["old_flow"]["stopped"]
    assert "asked to stop, and it is unknown whether it has stopped" in report.facts["old_flow"]["detail"]
    group.wait_answering()
    with group.protection.clients() as clients:
        clients.replicator(group.protection.flow).wait_stopped(60)
    assert disaster.step(StepName.REPORT, request).facts["old_flow"]["stopped"]
    # The owners of one group chose the end, which it had reached; those of the other chose to read all again.
    again = disaster.read_again()
    assert (again[head], again[slow]) == (0, sum(disaster.positions[slow].values()))
    placed = {row["group"]: row["reason"] for row in records[StepName.CUT_OVER_GROUPS].facts["groups"]}
    assert "from the earliest record on" in placed[slow]
    assert "from the end on" in placed[head]


def test_records_that_an_open_transaction_held_back_are_part_of_the_stated_loss(
    disaster: Disaster,
) -> None:
    group, [place] = disaster.group, disaster.group.at(0)
    with held_back(group.protection, "east", 200) as transactional_id:
        disaster.look()
        with disaster.hanging(disaster.broker):
            records = disaster.go(StepName.REPORT)
    stated = records[StepName.GATHER_EVIDENCE].facts["measurements"]["predicted_loss"]
    said = "200 acknowledged records and 1 record that may still be aborted are held back by the open transaction of"
    assert stated["at_least_records"] == 200
    assert stated["held_back"].startswith(f"{said} {transactional_id} since ")
    assert records[StepName.REPORT].facts["predicted_loss"] == stated
    # Once the source is back and the transaction has ended, a plain client reads what is missing.
    group.wait_answering()
    assert len(group.contents("east")[place]) - len(group.contents("west")[place]) == 200


@pytest.mark.long
def test_without_airflow_a_killed_source_is_given_up_by_two_people_who_signed(disaster: Disaster) -> None:
    protection, line = disaster.group.protection, CommandLine(disaster.group.protection)
    files, public = line.keys("alice", "bob")
    spec = protection.group.disaster.model_copy(update={"approvers_needed": 2})
    protection.changes.update(approver_keys=public, disaster=spec)
    disaster.produce_what_never_crosses(30)
    group = ("--group", protection.name)
    asked = (*group, "--reason", "east burns", "--acknowledged", "--override", "a test has one vantage")

    with line.started("failover", "unplanned", *asked, "--key", str(files["alice"]), "--yes") as failover:
        run, shown = read_until(failover, "waiting for an approver")
        assert "approved by alice, verified by a key" in shown
        answer = ("approve", *group, "--run", run, "--yes", "--key")
        said = line.run(*answer, str(files["bob"]), "--json")
        assert (said.code, said.json["exit_code"]) == (0, 0), said.err
        out, err = failover.communicate(timeout=300)
    assert failover.returncode == 0, out + err
    assert f"the unplanned failover of {protection.name} is done" in out

    state = disaster.state()
    assert (state.phase, state.active, state.run) == (Phase.UNFENCED, "west", run)
    assert protection.takes_writes("west")
    said = line.run("status", *group, "--json")
    assert said.code == 1, said.err
    assert "east may take writes: dr_health fences it as soon as it answers" in said.json["groups"][0]["next_steps"]
    # By hand nothing is left to do but to fence the old cluster when it is back.
    said = line.run("status", *group, "--by-hand", "--json")
    assert [each["name"] for each in said.json["procedures"]] == ["fence"]
    assert "east does not answer" in said.json["not_known"][0]


@pytest.mark.long
def test_groups_go_back_to_a_time_before_what_they_had_read(disaster: Disaster) -> None:
    group = disaster.group
    time.sleep(0.05)
    moment = datetime.now(UTC)
    time.sleep(0.05)
    group.produce(40)
    group.wait_equal()
    name = f"{group.name}-head"
    group.protection.commit("east", name, group.at(170, 170))
    disaster.look()
    with disaster.hanging(disaster.broker):
        records = disaster.go(StepName.VERIFY, disaster.request(begin_at=moment, begin_positions="all"))
        moved = outside_view.committed(group.protection, "west")[name]
        begins = outside_view.next_values(group.protection, "west", moved)
        logs = group.contents("west")
    since = moment.timestamp() * 1000
    assert begins == {p: next(value for at, _, value, _ in logs[p] if at >= since) for p in moved}
    [row] = {row["class"] for row in records[StepName.CUT_OVER_GROUPS].facts["groups"]}
    assert row == "declared"
