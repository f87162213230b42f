"""A whole failback on real clusters: no acknowledged record is lost or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import AclOperation, TopicPartition
from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.topics import Topics
from kafka_dr.clusters.writing import TransactionalWriter
from kafka_dr.errors import Refused
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.register import KafkaRegister, Phase
from kafka_dr.register.quarantine import QuarantinedRange, by_partition
from kafka_dr.rescue import compared, kept, ledger
from kafka_dr.retention.expiry import Expired, Expiry
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.runs.retention_hold import RETENTION_HOLD
from kafka_dr.topology.evidence import RetentionSpec
from kafka_dr.verbs.resume import resume
from lab.credentials import SIGNING_KEY, passwords_of
from support import damaged_files, outside_view
from support.checksum import Auditor
from support.command_line import CommandLine, Said
from support.disaster import Disaster
from support.failback_run import STEPS, FailbackRun
from support.old_cluster import RUN, OldClusterGroup
from support.stranding import Listed, list_stranded
from support.switched_group import Killed, SwitchedGroup, dying

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]


#: Changes after which the steps of a quarantine die, among others: the table shows that none is left out.
_QUARANTINE_DIES: dict[StepName, tuple[str, ...]] = {
    StepName.RESCUE: ("Topics.create", "TransactionalWriter.write as kafka-dr-rescue", "write_fact rescued on west"),
    StepName.PREPARE_OLD_CLUSTER: ("write_fact quarantine on west", "write_fact old_cluster_prepared on west"),
    StepName.REVERSE_FLOW: (
        "write_fact flow_seed on west",
        "Acls.remove",
        "Mm2Replicator.seed",
        "Mm2Replicator.resume",
    ),
    StepName.CATCH_UP: ("write_fact caught_up on west",),
}


def disaster(left: OldClusterGroup, *, by_the_verb: bool = False, sizes: Mapping[str, int] | None = None) -> None:
    """Write, stop copying, write more, fail over, write to both clusters, and let the old one answer again.

    :param sizes: more records that are not copied: by topic one record with a value of this size
    """
    name = left.protection.name
    left.write("east", 40)
    left.write_committed("east", 4)
    left.protection.commit("east", f"{name}-slow", {_payments(left, 0): 5, _payments(left, 1): 7})
    left.stop_flow()
    left.write("east", 9, keys=0)
    left.write("east", 6, keys=3)
    left.write_aborted("east", 3)
    for topic, size in (sizes or {}).items():
        left.write_one("east", topic, size=size)
    if by_the_verb:
        left.leave_by_the_verb()
        left.write("west", 20)
        return
    left.leave()
    left.write("west", 20)
    left.write("east", 5, keys=0)
    left.fence_on_return()


def assert_died(home: FailbackRun, step: StepName, *places: str) -> None:
    """Run a step that dies after each of its changes, these among them."""
    died = home.wherever_it_dies(step)
    assert all(place in died for place in places), died


def _payments(left: OldClusterGroup, number: int) -> TopicPartition:
    return TopicPartition(left.protection.topic, number)


def read_to_the_end(left: OldClusterGroup, group: str) -> None:
    """Let a group read everything on the active cluster."""
    with left.protection.cluster("west", "admin") as admin:
        partitions = admin.topics.describe([left.protection.topic])[left.protection.topic].partitions
        admin.groups.set_offsets({group: admin.topics.last_stable_offsets(partitions)})


def counted(left: OldClusterGroup, cluster: str, aside: tuple[str, ...] = ()) -> Counter[bytes]:
    """Count the values on a cluster, without quarantined records and without those of this project."""
    ranges = by_partition([QuarantinedRange.parse(each) for each in aside])
    found: Counter[bytes] = Counter()
    with left.protection.cluster(cluster, "admin") as admin:
        owned = [name for name in admin.topics.names() if left.protection.group.owns_topic(name)]
        partitions = [
            p
            for topic in admin.topics.describe(owned).values()
            for p in topic.partitions
            if topic.name != left.protection.group.canary_topic
        ]
        starts, ends = admin.topics.log_starts(partitions), admin.topics.last_stable_offsets(partitions)
        from kafka_dr.clusters import OffsetRange

        for record in admin.log.read({p: OffsetRange(starts[p], ends[p]) for p in partitions}):
            here = ranges.get(record.topic_partition, ())
            if record.value is not None and not any(each.start <= record.offset < each.end for each in here):
                found[record.value] += 1
    return found


def assert_nothing_lost_or_twice(left: OldClusterGroup, listed: Listed, cluster: str, aside: tuple[str, ...]) -> None:
    acknowledged = {value for values in left.written.values() for value in values}
    stranded, there = Counter(listed.values), counted(left, cluster, aside)
    assert set(there) <= acknowledged
    assert max(stranded.values()) == max(there.values()) == 1
    assert acknowledged == set(stranded) | set(there)
    assert not set(stranded) & set(counted_without_origin(left, cluster, aside))


def counted_without_origin(left: OldClusterGroup, cluster: str, aside: tuple[str, ...]) -> set[bytes]:
    """Return the values on a cluster, without records that were published again."""
    republished = {
        value
        for contents in outside_view.contents(left.protection, cluster).values()
        for _, _, value, headers in contents
        if value is not None and any(name == "kafka-dr-origin-run" for name, _ in headers)
    }
    return set(counted(left, cluster, aside)) - republished


def go_home(left: OldClusterGroup) -> None:
    """Move the group to the first cluster by a planned failover, and check that every group resumes where it was."""
    before = outside_view.committed(left.protection, "west")
    unread = {g: outside_view.next_values(left.protection, "west", offsets) for g, offsets in before.items()}
    switching = SwitchedGroup(left.protection)
    switching.go(StepName.REPORT)
    after = outside_view.committed(left.protection, "east")
    for group, expected in unread.items():
        moved = {p: after[group][p] for p in expected}
        assert outside_view.next_values(left.protection, "east", moved) == expected, group
    for cluster, phase in (("east", Phase.STABLE), ("west", Phase.STABLE)):
        state = left.protection.state(cluster)
        assert state is not None
        assert (state.phase, state.active) == (phase, "east")
    assert left.protection.takes_writes("east")
    assert left.protection.refuses_writes("west")


def erase(left: OldClusterGroup, *which: str) -> Said:
    """Erase kept stranded records on the command line."""
    asked = ("erase", "--group", left.protection.name, "--by", "dana", "--reason", "request 4711", "--confirmed")
    return CommandLine(left.protection).run(*asked, "--break-glass", *which)


def erase_a_key(left: OldClusterGroup, listed: Listed) -> set[bytes]:
    """Erase the records of one key, and return their values."""
    values = {row["value"] for row in listed.records if row["key"] == b"key-1"}
    done = erase(left, "--key", "key-1")
    assert (done.code, len(values) > 0) == (0, True), done.err
    assert not values & set(listed.values)
    return values


def test_a_quarantine_succeeds_and_every_step_can_be_interrupted_and_repeated(
    left: OldClusterGroup, spark: SparkSession, auditor: Callable[[], None]
) -> None:
    protection, name = left.protection, left.protection.name
    # One record is larger than clients accept by default, one has no room left for the headers that name its origin.
    large, tight = f"{name}.large", f"{name}.tight"
    with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
        for cluster, (topic, most) in product((east, west), ((large, 4_000_000), (tight, 2_000))):
            config = {"max.message.bytes": str(most)}
            cluster.topics.create(topic, partitions=1, replication_factor=1, config=config)
    with protection.cluster("east", "admin") as east:
        assert not east.configs.set({protection.topic: {"retention.ms": "86400000"}})
    disaster(left, sizes={large: 3_000_000, tight: 1_900})
    assert left.topics_that_keep_all("east") == {protection.topic, large, tight}
    home = FailbackRun(protection, auditor, rescue="republish")
    with protection.stranger_may_write("east"):
        refused = home.failed(StepName.PREFLIGHT)
    assert "there is no list" in refused.detail
    assert "intruder may write on east" in refused.detail
    listed = list_stranded(protection, spark, run=RUN)
    assert listed.code == 1
    erased = erase_a_key(left, listed)
    # A group that has not read past the failover would read stranded records.
    refused = home.failed(StepName.PREFLIGHT)
    assert "with the mode rebuild" in refused.detail
    assert f"{name}-slow" in refused.detail
    read_to_the_end(left, f"{name}-slow")
    read_to_the_end(left, f"{name}-head")
    protection.commit("west", f"{name}-head", outside_view.committed(protection, "west")[f"{name}-slow"])

    before = outside_view.look(protection)
    dry = FailbackRun(protection, auditor, dry_run=True)
    assert {dry.step(step).outcome for step in STEPS} == {"would_do"}
    assert outside_view.look(protection) == before
    home.wherever_it_dies(StepName.PREFLIGHT)
    assert f"the content of {len(erased)} of them was erased by dana" in str(home.step(StepName.PREFLIGHT).checks)
    home.approve()
    assert not home.approve("bob", StepName.SECOND_APPROVAL)
    assert_died(home, StepName.CLAIM, "claim", "compare_and_set diverged on west", "compare_and_set diverged on east")
    other = FailbackRun(protection, auditor)
    assert "dr_resume" in other.failed(StepName.PREFLIGHT).detail
    held = erase(left, "--run", RUN)
    assert (held.code, f"the failback {home.run} holds" in held.err) == (4, True)
    with pytest.raises(Refused, match=f"is diverged by run {home.run}"):
        expire_in_forty_days(left)
    for step, places in _QUARANTINE_DIES.items():
        assert_died(home, step, *places)
        assert protection.refuses_writes("east")
    assert home.failed(StepName.SETTLE).outcome == "unknown"
    auditor()
    noted = [f"change_fact {RETENTION_HOLD}.east on {name}" for name in ("west", "east")]
    settled = [f"compare_and_set stable on {name}" for name in ("west", "east")]
    assert_died(home, StepName.SETTLE, *settled, "Configs.set on east", *noted)
    assert not left.topics_that_keep_all("east")
    assert left.own_retention("east", protection.topic, large) == ["86400000", None]
    assert_died(home, StepName.REPORT, "write_fact measured on west")

    state = protection.state("west")
    assert state is not None
    assert state == protection.state("east")
    assert (state.phase, state.active, state.verb) == (Phase.STABLE, "west", "failback")
    summary = listed.summary
    assert {str(QuarantinedRange.parse(each).topic_partition) for each in state.quarantine} == {
        f"{row['topic']}-{row['partition']}" for row in summary["partitions"] if row["records"]
    }
    # Records whose keys were written again went to a topic of their own, the others into the topic; each once.
    again = counted(left, "west")
    assert all(again[value] == 1 for value in listed.values)
    beside = outside_view.contents(protection, "west")
    keyed = {row["value"] for row in listed.records if row["key"] is not None}
    aside = {v for p, found in beside.items() if p.topic.endswith(".stranded") for _, _, v, _ in found}
    assert aside == keyed | {row["value"] for row in listed.records if row["topic"] == tight}
    assert not erased & set(again)
    with protection.cluster("west", "admin") as west:
        entries = ledger.read_ledger(west, name, RUN).values()
    assert sum(entry.erased for entry in entries) == len(erased)
    left.written["east"] = [value for value in left.written["east"] if value not in erased]
    assert_nothing_lost_or_twice(left, listed, "west", ())

    left.write("west", 10)
    go_home(left)
    left.write("east", 6)
    assert_nothing_lost_or_twice(left, listed, "east", state.quarantine)
    # The reverse flow is audited without the same ranges.
    audit = Auditor(protection, spark, protection.folder / "again")
    protection.wait_copied()
    assert audit("--full").code == 0
    assert_what_expired_is_gone_and_every_seal_verifies(left, listed, home)


def expire_in_forty_days(left: OldClusterGroup) -> Expired:
    """Remove what the topology would keep for a month, forty days from now."""

    class InFortyDays(SystemClock):
        def now(self) -> datetime:
            return super().now() + timedelta(days=40)

    with left.protection.clients() as clients:
        clients.clock = InFortyDays()
        rules = RetentionSpec(payloads_days=30, runs_days=30)
        evidence = clients.topology.evidence.model_copy(update={"retention": rules})
        clients.topology = clients.topology.model_copy(update={"evidence": evidence})
        return Expiry(clients, left.protection.name).remove()


def assert_what_expired_is_gone_and_every_seal_verifies(
    left: OldClusterGroup, listed: Listed, home: FailbackRun
) -> None:
    """The failback has ended: neither its payloads nor its evidence are kept for longer than a month."""
    protection = left.protection
    assert listed.values
    expired = expire_in_forty_days(left)
    assert (expired.problems, len(expired.lists)) == ((), 1)
    assert listed.values == []
    runs = protection.folder / "evidence" / "runs" / protection.name
    assert home.run in {each.run for each in expired.runs.expired}
    assert not list((runs / home.run).glob("*-claim*"))
    trusted = SigningKey.of(passwords_of(protection.lab.home)[SIGNING_KEY]).public_pem
    found = {path.name: check_sealed_run(path, trusted=trusted) for path in runs.iterdir()}
    assert {run: each.changed for run, each in found.items() if each.verdict == "changed"} == {}
    assert (found[home.run].verdict, found[home.run].unproven) == ("sound", ())
    assert "by the rule evidence.retention.runs_days: 30" in found[home.run].expired
    assert home.run in found[expired.recorded_by].chain


def test_a_rebuild_after_an_abandoned_quarantine_succeeds_wherever_its_process_dies(
    left: OldClusterGroup, spark: SparkSession, auditor: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    protection, name = left.protection, left.protection.name
    with protection.cluster("east", "admin") as east, protection.cluster("west", "admin") as west:
        for cluster in (east, west):
            config = {"cleanup.policy": "compact"}
            cluster.topics.create(f"{name}.state", partitions=2, replication_factor=1, config=config)
    left.write("east", 10, topic=f"{name}.state", keys=5)
    disaster(left, by_the_verb=True)
    listed = list_stranded(protection, spark, run=left.run)
    _give_up_a_quarantine(left, auditor)

    assert list_stranded(protection, spark, run=left.run).values == listed.values
    assert "with the mode rebuild" in FailbackRun(protection, auditor).failed(StepName.PREFLIGHT).detail
    _give_up_a_rebuild(left, auditor)
    home = FailbackRun(protection, auditor, mode="rebuild", rescue="republish")
    home.step(StepName.PREFLIGHT)
    home.approve("alice")
    with pytest.raises(StepFailed, match="may not give this answer"):
        home.approve("alice", StepName.SECOND_APPROVAL)
    assert "has no answer to second_approval" in home.failed(StepName.CLAIM).detail
    home.approve("bob", StepName.SECOND_APPROVAL)
    home.step(StepName.CLAIM)
    # The first time, the process takes the run.
    home.killed(StepName.RESCUE, dying(TransactionalWriter, "_commit", when="before", nth=2))
    home.killed(StepName.RESCUE, dying(TransactionalWriter, "write", nth=2))
    home.step(StepName.RESCUE)
    _hide(listed)
    before = _ids(left, "east")
    assert "cannot be read" in home.failed(StepName.PREPARE_OLD_CLUSTER).detail
    assert _ids(left, "east") == before
    _show(listed)
    with _zeroed(listed):
        assert "is not what was written when the list was made" in home.failed(StepName.PREPARE_OLD_CLUSTER).detail
    assert _ids(left, "east") == before
    with _not_kept_as_it_was_listed(monkeypatch):
        assert "is kept differently from what east holds" in home.failed(StepName.PREPARE_OLD_CLUSTER).detail
    assert _ids(left, "east") == before
    assert_died(
        home,
        StepName.PREPARE_OLD_CLUSTER,
        "write_fact old_cluster_prepared",
        "Acls.add",
        "Topics.delete",
        "Acls.remove",
        "Configs.create",
    )
    made = _ids(left, "east")
    assert home.step(StepName.PREPARE_OLD_CLUSTER).outcome == "done"
    assert _ids(left, "east") == made
    assert not set(made.values()) & set(before.values())
    assert_died(
        home, StepName.REVERSE_FLOW, "write_fact flow_seed on west", "Mm2Replicator.seed", "Mm2Replicator.resume"
    )
    # The stranded records are listed once more: the kept ones are still there.
    assert list_stranded(protection, spark, run=left.run).values == listed.values
    with protection.clients() as clients, pytest.raises(StepFailed, match="checksum"):
        resume(ResumeRequest(name, "finish", reason="it died", confirmed=True), clients)
    auditor()
    # An audit of the copy comes between two attempts, never within one: the second continues where the first stopped.
    with protection.clients() as clients, dying(KafkaRegister, "compare_and_set", nth=2), pytest.raises(Killed):
        resume(ResumeRequest(name, "finish", reason="it died", confirmed=True), clients)
    with protection.clients() as clients:
        resume(ResumeRequest(name, "finish", run=home.run, reason="it died again", confirmed=True), clients)

    state = protection.state("east")
    assert state is not None
    assert (state.phase, state.quarantine) == (Phase.STABLE, ())
    assert protection.refuses_writes("east")
    assert all(counted(left, "west")[value] == 1 for value in listed.values)
    assert_nothing_lost_or_twice(left, listed, "west", ())
    left.write("west", 10)
    go_home(left)
    left.write("east", 6)
    assert_nothing_lost_or_twice(left, listed, "east", ())


@pytest.mark.long
def test_without_airflow_a_group_is_failed_over_and_the_old_cluster_made_a_copy_again(
    left: OldClusterGroup, spark: SparkSession, auditor: Callable[[], None]
) -> None:
    protection, line = left.protection, CommandLine(left.protection)
    # As quick as a test's unplanned run is otherwise.
    protection.changes["timing"] = protection.group.timing.model_copy(update={"confirm_seconds": 0.2})
    left.write("east", 40)
    protection.commit("east", f"{protection.name}-slow", {_payments(left, 0): 20, _payments(left, 1): 20})
    left.stop_flow()
    left.write("east", 9)
    Disaster.of(SwitchedGroup(protection)).look()
    asked = ("--group", protection.name, "--reason", "a test")
    glass = ("--break-glass", "--by", "carol", "--yes", "--json")
    override = ("--acknowledged", "--override", "a test has no vantage")
    said = line.run("failover", "unplanned", *asked, *override, *glass)
    assert said.code == 0, said.err
    left.run = said.json["run"]
    left.write("west", 20)
    read_to_the_end(left, f"{protection.name}-slow")

    said = line.run("failback", *asked, "--mode", "rebuild", *glass)
    assert (said.code, "its approvals are never by break glass" in said.err) == (4, True)
    said = line.run("failback", *asked, *glass)
    assert (said.code, "there is no list" in said.err) == (3, True), said.err
    listed = list_stranded(protection, spark, run=left.run)
    assert line.run("plan", "failback", *asked).code == 0
    said = line.run("failback", *asked, *glass)
    assert (said.code, said.json["steps"][-1]["step"]) == (3, "settle"), said.err
    run = said.json["run"]
    assert f"continue it with: resume --group {protection.name} --run {run}" in said.json["detail"]
    auditor()
    said = line.run("resume", *asked, "--run", run, "--json")
    assert (said.code, said.json["outcome"]) == (0, "done"), said.err

    state = protection.state("west")
    assert state is not None
    assert state == protection.state("east")
    assert (state.phase, state.active, state.run) == (Phase.STABLE, "west", run)
    assert protection.refuses_writes("east")
    assert_nothing_lost_or_twice(left, listed, "west", ())


def _give_up_a_quarantine(left: OldClusterGroup, auditor: Callable[[], None]) -> None:
    """Begin a quarantine, and abandon it after it has copied records."""
    read_to_the_end(left, f"{left.protection.name}-slow")
    given_up = FailbackRun(left.protection, auditor)
    given_up.begin()
    for step in (StepName.RESCUE, StepName.PREPARE_OLD_CLUSTER, StepName.REVERSE_FLOW, StepName.CATCH_UP):
        given_up.step(step)
    with left.protection.clients() as clients:
        resume(
            ResumeRequest(left.protection.name, "abandon", reason="it copies the wrong way", confirmed=True), clients
        )
    assert outside_view.connectors(left.protection)[f"dr.{left.protection.name}.west-to-east"] == "STOPPED"
    assert given_up.failed(StepName.CATCH_UP).outcome == "refused"


def _give_up_a_rebuild(left: OldClusterGroup, auditor: Callable[[], None]) -> None:
    """Abandon a rebuild whose process was killed after it got the right to delete, and before it removed that right."""
    given_up = FailbackRun(left.protection, auditor, mode="rebuild")
    given_up.begin()
    given_up.step(StepName.RESCUE)
    before = outside_view.acls_of(left.protection, "east")
    with dying(Topics, "delete", when="before"):
        given_up.killed(StepName.PREPARE_OLD_CLUSTER, dying(Acls, "remove", when="before"))
    assert {acl.operation for acl in outside_view.acls_of(left.protection, "east") - before} == {AclOperation.DELETE}
    with left.protection.clients() as clients:
        resume(
            ResumeRequest(left.protection.name, "abandon", reason="somebody had second thoughts", confirmed=True),
            clients,
        )
    assert outside_view.acls_of(left.protection, "east") == before


def _hide(listed: Listed) -> None:
    for row in listed.summary["files"]:
        path = listed.folder / row["path"]
        path.rename(path.with_suffix(".away"))


@contextmanager
def _zeroed(listed: Listed) -> Iterator[None]:
    """Overwrite the records of one file with zeroes for a while; its footer counts them as before."""
    path = listed.folder / listed.summary["files"][0]["path"]
    content = path.read_bytes()
    damaged_files.zero_the_pages(path)
    yield
    path.write_bytes(content)


@contextmanager
def _not_kept_as_it_was_listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let one byte that is read back differ from the old cluster, although the files are as they were written."""
    read = kept.read_partition

    def differing(*arguments: Any, **named: Any) -> Iterator[kept.KeptRecord]:
        return (replace(record, value=b"x" + (record.value or b"")) for record in read(*arguments, **named))

    with monkeypatch.context() as patch:
        patch.setattr(compared, "read_partition", differing)
        yield


def _show(listed: Listed) -> None:
    for row in listed.summary["files"]:
        path = listed.folder / row["path"]
        path.with_suffix(".away").rename(path)


def _ids(left: OldClusterGroup, cluster: str) -> dict[str, str]:
    with left.protection.cluster(cluster, "admin") as admin:
        owned = [name for name in admin.topics.names() if left.protection.group.owns_topic(name)]
        return {name: topic.topic_id for name, topic in admin.topics.describe(owned).items()}
