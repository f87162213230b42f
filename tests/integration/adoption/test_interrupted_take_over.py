"""A take over that dies anywhere is finished or given back; nobody else takes the group meanwhile; a release is undone.

What was there before is compared with what is there after a take over was given back: ACLs, connectors, and a copy
that continues without a gap.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import KafkaDrError
from kafka_dr.health.health_check import check_health
from kafka_dr.register import Phase
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import switch
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support import outside_view
from support.dying_process import DyingProcess
from support.existing_flow import ExistingFlow
from support.protection import STEPS_OF_RELEASE, Protection
from support.taking_over import SilentWatch, TakingOver
from support.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.parametrize("separator", ["", "."], ids=["same names", "other names"], indirect=True),
]

STEPS = (StepName.CLAIM, StepName.STOP_EXISTING, StepName.VERIFY_TAIL, StepName.START_FLOW)
TO_THE_END = (*STEPS, StepName.SETTLE, StepName.REPORT)


def at(protection: Protection, *offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition(protection.topic, number): offset for number, offset in enumerate(offsets)}


def copied(existing: ExistingFlow, count: int) -> None:
    """Let the existing replication copy some records."""
    protection = existing.protection
    protection.produce("east", count)
    with protection.cluster("east", "admin") as east:
        ends = east.topics.high_watermarks([TopicPartition(protection.topic, n) for n in range(protection.partitions)])
    existing.wait_copied(ends)


def values(protection: Protection, cluster: str) -> Counter[bytes | None]:
    """Return the values of the payments that east has written on a cluster, and how often each is there."""
    topic = protection.topic if cluster == "east" else protection.copy_name(protection.topic)
    partitions = [TopicPartition(topic, n) for n in range(protection.partitions)]
    with protection.cluster(cluster, "admin") as admin:
        ends = admin.topics.last_stable_offsets(partitions)
        ranges = {p: OffsetRange(0, ends[p]) for p in partitions}
        return Counter(record.value for record in admin.log.read({p: r for p, r in ranges.items() if len(r)}))


def flows_run(protection: Protection) -> None:
    """Do what ``dr_flows`` does, which starts the flow back where copies have other names."""
    count = 2 if protection.group.renames_copies else 1

    def done() -> bool:
        with protection.clients() as clients:
            reconciled = reconcile_flows(protection.name, clients).outcome == "ok"
        found = outside_view.connectors(protection).values()
        return reconciled and len(found) == count and {each.split()[0] for each in found} == {"RUNNING"}

    eventually(done, seconds=60)


def assert_as_it_was(existing: ExistingFlow, before: outside_view.Seen) -> None:
    """Nothing of the take over is left, and the existing replication copies without a gap and without copies twice."""
    protection = existing.protection
    now = outside_view.look(protection)
    assert now.acls == before.acls
    assert now.connectors == before.connectors
    assert now.route == before.route
    state = protection.state("east")
    assert state is not None
    assert state == protection.state("west")
    assert (state.phase, state.is_held) == (Phase.RELEASED, False)
    existing.connect.wait_for(existing.name, "running", deadline_seconds=30)
    copied(existing, 20)
    assert values(protection, "west") == values(protection, "east")
    with protection.clients() as clients:
        assert check_health(protection.name, clients).outcome == "left_alone"


def assert_taken_over(existing: ExistingFlow, run: str) -> None:
    """This project replicates, exactly from where the copy ended."""
    protection = existing.protection
    state = protection.state("east")
    assert state is not None
    assert state == protection.state("west")
    assert (state.phase, state.run) == (Phase.STABLE, run)
    protection.produce("east", 20)
    protection.wait_copied()
    assert values(protection, "west") == values(protection, "east")
    assert protection.refuses_writes("west")


@pytest.mark.parametrize("last", STEPS)
def test_a_take_over_is_given_back_after_each_of_its_steps(
    existing: ExistingFlow, spark: SparkSession, last: StepName
) -> None:
    existing.start()
    copied(existing, 60)
    taking, before = TakingOver(existing.protection, spark), outside_view.look(existing.protection)
    with existing.protection.clients() as clients:
        request, _ = taking.prepared(clients)
        for step in STEPS[: STEPS.index(last) + 1]:
            run_step(step, request, clients)
        if last is StepName.START_FLOW:
            existing.protection.produce("east", 30)
            existing.protection.wait_copied()

    with existing.protection.clients() as clients:
        record = roll_back(request, clients)

    assert record.outcome == "done"
    if last is StepName.START_FLOW:
        assert record.facts["copied_here"] >= 30
        assert "copied_twice_at_most" not in record.facts
    assert_as_it_was(existing, before)
    assert roll_back_again(existing, request) == "done"


def roll_back_again(existing: ExistingFlow, request: object) -> str:
    with existing.protection.clients() as clients:
        return roll_back(request, clients).outcome  # type: ignore[arg-type]


def test_a_process_that_dies_after_each_change_finishes_the_take_over(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    existing.start()
    copied(existing, 60)
    taking, process = TakingOver(existing.protection, spark), DyingProcess()
    with existing.protection.clients() as clients:
        request, _ = taking.prepared(clients)

    def work() -> None:
        with existing.protection.clients() as clients:
            for step in TO_THE_END:
                run_step(step, request, clients)

    process.until_through(work)

    assert len(process.died) > 15
    assert_taken_over(existing, request.run)


def test_a_process_that_dies_after_each_change_gives_everything_back(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    existing.start()
    copied(existing, 60)
    taking, process = TakingOver(existing.protection, spark), DyingProcess()
    before = outside_view.look(existing.protection)
    with existing.protection.clients() as clients:
        request, _ = taking.prepared(clients)
        for step in STEPS:
            run_step(step, request, clients)
    existing.protection.produce("east", 30)
    existing.protection.wait_copied()

    def work() -> None:
        with existing.protection.clients() as clients:
            resume(ResumeRequest(existing.protection.name, "abandon", request.run, "a test", confirmed=True), clients)

    process.until_through(work)

    assert len(process.died) > 8
    assert_as_it_was(existing, before)


def test_of_two_take_overs_at_the_same_time_one_has_the_group(existing: ExistingFlow, spark: SparkSession) -> None:
    existing.start()
    copied(existing, 60)
    taking = TakingOver(existing.protection, spark)
    requests = [taking.request(), taking.request()]
    taking.audit()
    with existing.protection.clients() as clients:
        for request in requests:
            run_step(StepName.PREFLIGHT, request, clients)
            taking.approve(request, clients)

    def claim(number: int) -> str:
        with existing.protection.clients() as clients:
            try:
                switch(requests[number], clients, SilentWatch())
            except KafkaDrError as error:
                return str(error)
        return "won"

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(claim, range(2)))

    assert answers.count("won") == 1, answers
    winner = requests[answers.index("won")]
    with existing.protection.clients() as clients:
        run_step(StepName.REPORT, winner, clients)
        # What the loser does next changes nothing.
        roll_back(requests[1 - answers.index("won")], clients)
    assert_taken_over(existing, winner.run)


def test_an_existing_flow_that_its_owner_resumes_in_the_middle_copies_nothing(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    existing.start()
    copied(existing, 60)
    taking = TakingOver(existing.protection, spark)
    with existing.protection.clients() as clients:
        request, _ = taking.prepared(clients)
        for step in (StepName.CLAIM, StepName.STOP_EXISTING):
            run_step(step, request, clients)
        existing.connect.resume(existing.name)
        existing.protection.produce("east", 20)
        status = existing.connect.wait_for(existing.name, "failed", deadline_seconds=60)
        assert status.settled == "failed"
        for step in (StepName.VERIFY_TAIL, StepName.START_FLOW, StepName.SETTLE, StepName.REPORT):
            run_step(step, request, clients)
    assert_taken_over(existing, request.run)


def test_faults_that_come_after_the_approval_are_refused_and_nothing_is_stopped(
    existing: ExistingFlow, spark: SparkSession
) -> None:
    existing.start()
    copied(existing, 60)
    taking, before = TakingOver(existing.protection, spark), outside_view.look(existing.protection)
    with existing.protection.clients() as clients:
        request, _ = taking.prepared(clients)
        existing.die_and_come_back()
        existing.wait_copied(at(existing.protection, 60, 60))
        run_step(StepName.CLAIM, request, clients)
        with pytest.raises(StepFailed, match="since the audit the copy has faults that nobody has approved: 30 duplic"):
            run_step(StepName.STOP_EXISTING, request, clients)
        assert existing.connect.status(existing.name).settled == "running"
        roll_back(request, clients)
    now = outside_view.look(existing.protection)
    assert (now.acls, now.connectors) == (before.acls, before.connectors)


def test_a_group_is_released_and_adopted_again(existing: ExistingFlow, spark: SparkSession) -> None:
    protection = existing.protection
    existing.start()
    copied(existing, 60)
    before = outside_view.look(protection)
    taking = TakingOver(protection, spark)
    with protection.clients() as clients:
        taking.take_over(clients)
        flows_run(protection)
        protection.produce("east", 40)
        protection.wait_copied()
        request = taking.request("un_adopt")
        run_step(StepName.PREFLIGHT, request, clients)
        asked = taking.approve(request, clients)
        for step in STEPS_OF_RELEASE:
            run_step(step, request, clients)

    assert "Nobody can fail over this group afterwards" in asked
    now = outside_view.look(protection)
    assert now.acls == before.acls
    assert now.connectors == before.connectors
    state = protection.state("east")
    assert state is not None
    assert (state.phase, state.epoch) == (Phase.RELEASED, 2)
    copied(existing, 20)
    assert values(protection, "west") == values(protection, "east")
    with protection.clients() as clients:
        assert check_health(protection.name, clients).outcome == "left_alone"
        taking.take_over(clients)
        again = protection.state("east")
        assert again is not None
        assert (again.phase, again.epoch) == (Phase.STABLE, 3)
        seed = FlowSeed.from_json(clients.register("east").facts(protection.name, again.run)[FLOW_SEED])
        assert seed.epoch == 3
    assert_taken_over(existing, again.run)


def test_a_release_that_dies_is_abandoned_or_finished(existing: ExistingFlow, spark: SparkSession) -> None:
    protection = existing.protection
    existing.start()
    copied(existing, 60)
    taking, process = TakingOver(protection, spark), DyingProcess()
    before = outside_view.look(protection)
    with protection.clients() as clients:
        taking.take_over(clients)
        request = taking.request("un_adopt")
        run_step(StepName.PREFLIGHT, request, clients)
        taking.approve(request, clients)
        flows_run(protection)
        for step in (StepName.CLAIM, StepName.STOP_FLOW):
            run_step(step, request, clients)
        assert {each.split()[0] for each in outside_view.connectors(protection).values()} == {"STOPPED"}
    with protection.clients() as clients:
        resume(ResumeRequest(protection.name, "abandon", reason="a test", confirmed=True), clients)
    assert {each.split()[0] for each in outside_view.connectors(protection).values()} == {"RUNNING"}
    state = protection.state("east")
    assert state is not None
    assert_taken_over(existing, state.run)

    with protection.clients() as clients:
        request = taking.request("un_adopt")
        run_step(StepName.PREFLIGHT, request, clients)
        taking.approve(request, clients)
        run_step(StepName.CLAIM, request, clients)

    def work() -> None:
        with protection.clients() as clients:
            resume(ResumeRequest(protection.name, "finish", request.run, "a test", confirmed=True), clients)

    process.until_through(work)
    now = outside_view.look(protection)
    assert now.acls == before.acls
    copied(existing, 20)
    assert values(protection, "west") == values(protection, "east")
