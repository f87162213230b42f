"""What another standby holds more is fetched before the target is opened: no survivor's record is lost or doubled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.failover.unplanned import fetch, fetch_writing
from kafka_dr.offsets.translate import without_source
from kafka_dr.register import transitions
from kafka_dr.rescue import fetching
from kafka_dr.rescue.fetch_ledger import LEDGER_TOPIC
from kafka_dr.rescue.fetching import Fetch
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.watch.canary_check import watch_canary
from lab import rights
from support import outside_view
from support.switched_group import Killed
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]
#: A flow whose source is dead needs about a minute to stop.
SECONDS = 240.0
WHY = "a test has one vantage"
#: How many offsets of the lost log, between two that are known on both clusters, hold no record, at most.
SPARE = 4
Logs = Mapping[TopicPartition, Sequence[outside_view.Content]]


@pytest.fixture
def own(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupOfThree]:
    """Return a group that the test moves without its active cluster, which then runs again."""
    group = GroupOfThree.adopt(three, tmp_path_factory.mktemp("fetched"))
    yield group
    for process in three.status().processes:
        if not process.running:
            three.restart(process.name)
    eventually(lambda: group.contents("east"))


def eventually(ask: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            found = ask()
            assert found
            return found
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def west_lags(own: GroupOfThree, *, more: int = 60) -> Logs:
    """Let north copy records that west does not, of every kind, then kill east; return what north holds."""
    protection = own.protection
    protection.produce("east", 60)
    own.wait_equal()
    own.stop_flow("east", "west")
    protection.produce("east", more)
    aborted(own)
    odd = [
        NewRecord(TopicPartition(protection.topic, 0), None, b"no key", (), 1_000),
        NewRecord(TopicPartition(protection.topic, 1), b"a tombstone", None, (("h", b"1"), ("h", None)), 2_000),
        NewRecord(TopicPartition(protection.topic, 0), b"", b"", (("", b""),), 1_500),
    ]
    with protection.cluster("east", rights.ORDERS_APP) as client:
        client.writing.append(odd)
    protection.produce("east", 10)
    protection.wait_copied(source="east", target="north")
    with protection.clients() as clients:
        assert watch_canary(own.name, clients).sentences
    protection.lab.kill(outside_view.broker_of("east"))
    return own.contents("north")


def aborted(own: GroupOfThree) -> None:
    settings = own.protection.lab.client_settings("east", "admin")
    producer = Producer({**settings, "transactional.id": f"{own.name}-aborted"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(own.protection.topic, b"never committed", partition=0)
    producer.flush(20)
    producer.abort_transaction(20)


def role_until(own: GroupOfThree, standby: str, role: str) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        found = own.flows()
        if own.roles[standby] == role:
            return
        assert time.monotonic() < deadline, found.sentences
        time.sleep(1)


def of_topics(own: GroupOfThree, logs: Logs) -> Logs:
    """Leave the canary out: its records are written after a failover, too."""
    return {p: log for p, log in logs.items() if p.topic != own.protection.group.canary_topic}


def operator_writes(own: GroupOfThree, cluster: str) -> list[str]:
    found = outside_view.acls_of(own.protection, cluster)
    who = own.protection.group.operator_principal
    return [str(acl) for acl in found if (acl.principal, acl.operation, acl.permission) == (who, "WRITE", "ALLOW")]


def test_west_holds_every_record_that_north_had_once_and_in_order_and_groups_continue_at_theirs(
    own: GroupOfThree,
) -> None:
    protection = own.protection
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    protection.commit("east", f"{own.name}-between", {first: 45, second: 50})
    protection.commit("east", f"{own.name}-slow", {first: 17, second: 20})
    held = west_lags(own)
    assert len(own.contents("west")[first]) < 45 < len(held[first])
    records = own.give_up("east", "west", override=WHY)
    (said,) = records[StepName.GATHER_EVIDENCE].facts["measurements"]["others_hold"]
    assert "that is fetched before west is opened, for at most 60 s" in said
    fetched = records[StepName.FENCE].facts["fetched"]
    assert fetched["left"] == [], fetched
    assert fetched["records"] >= 73
    reported = records[StepName.REPORT].facts["from_other_standbys"]
    assert reported[0].startswith(f"{fetched['records']} records were fetched from north in "), reported
    assert of_topics(own, own.contents("west")) == of_topics(own, held)
    assert operator_writes(own, "west") == []

    there = outside_view.committed(protection, "west")
    for group, offsets in (
        (f"{own.name}-between", {first: 45, second: 50}),
        (f"{own.name}-slow", {first: 17, second: 20}),
    ):
        reads = outside_view.next_values(protection, "west", there[group])
        for p, offset in offsets.items():
            at = [content[2] for content in held[p]].index(reads[p])
            # Where the lost log has an aborted record and markers, as many records may be read again.
            assert offset - SPARE <= at <= offset, (group, p)

    produced = protection.produce("west", 20)
    assert produced == 20
    role_until(own, "north", "copy")
    assert own.roles == {"east": "unfenced", "west": "active", "north": "copy"}
    eventually(lambda: own.contents("north") == own.contents("west"))
    log = own.contents("north")
    assert {p: list(log[p][: len(held[p])]) for p in (first, second)} == {p: list(held[p]) for p in (first, second)}


@pytest.mark.parametrize("when", ["before it commits", "after it has committed", "before it is over"])
def test_a_fetch_that_is_killed_in_the_middle_is_finished_by_another_process(
    own: GroupOfThree, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = west_lags(own)
    with monkeypatch.context() as patched:
        dying(patched, when)
        with pytest.raises(Killed):
            own.give_up("east", "west", override=WHY)
    assert own.protection.refuses_writes("west")
    with own.protection.clients() as clients:
        resume(ResumeRequest(own.name, "finish", reason="a test", confirmed=True), clients)
    assert of_topics(own, own.contents("west")) == of_topics(own, held)
    assert operator_writes(own, "west") == []
    assert own.roles == {"east": "unfenced", "west": "active", "north": "pending"}


def dying(patched: pytest.MonkeyPatch, when: str) -> None:
    """Let the process die at its third batch, each of which has seven records, or when all is fetched."""
    patched.setattr(fetching, "_MOST_RECORDS", 7)
    real_write, real_commit, batches = TransactionalWriter.write, TransactionalWriter._commit, []

    def write(writer: TransactionalWriter, records: Any) -> Any:
        wanted = list(records)
        if not any(record.partition.topic == LEDGER_TOPIC for record in wanted):
            return real_write(writer, wanted)
        batches.append(len(wanted))
        ends = real_write(writer, wanted)
        if len(batches) == 3 and when == "after it has committed":
            raise Killed
        return ends

    def commit(writer: TransactionalWriter, doing: str) -> None:
        if len(batches) == 3 and when == "before it commits":
            raise Killed
        real_commit(writer, doing)

    def run(fetch: Fetch) -> None:
        real_run(fetch)
        if when == "before it is over":
            raise Killed

    real_run = Fetch.run
    patched.setattr(TransactionalWriter, "write", write)
    patched.setattr(TransactionalWriter, "_commit", commit)
    patched.setattr(Fetch, "run", run)


def test_what_is_not_fetched_in_time_stays_on_north_and_is_named(
    own: GroupOfThree, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection = own.protection
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    protection.commit("east", f"{own.name}-between", {first: 45, second: 50})
    held = west_lags(own)
    before = own.contents("west")
    written: list[int] = []

    class Hurried(Fetch):
        """Has time for three batches."""

        def __init__(self, *given: Any, **named: Any) -> None:
            write = named["write"]

            def counted(*batch: Any) -> Any:
                ends = write(*batch)
                written.append(1)
                return ends

            super().__init__(*given, **{**named, "write": counted, "in_time": lambda: len(written) < 3})

    with monkeypatch.context() as patched:
        patched.setattr(fetching, "_MOST_RECORDS", 7)
        patched.setattr(fetching, "_OFFSETS_TOGETHER", 1)
        patched.setattr(fetch_writing, "Fetch", Hurried)
        records = own.give_up("east", "west", override=WHY)
    fetched = records[StepName.FENCE].facts["fetched"]
    left = {row["partition"]: row["why"] for row in fetched["left"]}
    assert set(left.values()) == {"the time for it was over"}
    assert fetched["records"] > 0
    log = own.contents("west")
    for p in (first, second):
        whole = str(p) not in left
        assert list(log[p]) == list(held[p][: len(log[p])])
        assert len(before[p]) <= len(log[p])
        assert (len(log[p]) == len(held[p])) is whole
    reported = records[StepName.REPORT].facts["from_other_standbys"]
    assert any(each.startswith("north holds records of ") for each in reported), reported

    # No group is past a record that it has not read.
    there = outside_view.committed(protection, "west")[f"{own.name}-between"]
    for p, offset in ((first, 45), (second, 50)):
        unread = [content[2] for content in held[p][offset:]]
        read = outside_view.next_values(protection, "west", {p: there[p]})[p]
        ahead = [content[2] for content in log[p]]
        assert read is None or ahead.index(read) <= offset
        assert read is not None or not set(unread) & set(ahead)

    protection.produce("west", 10)
    role_until(own, "north", "diverged")
    assert of_topics(own, own.contents("north")) == of_topics(own, held)


def test_with_no_time_at_all_nothing_is_fetched(own: GroupOfThree) -> None:
    timing = own.protection.group.timing.model_copy(update={"fetch_seconds": 0.0})
    with own.protection.changed(timing=timing):
        held = west_lags(own)
        before = own.contents("west")
        records = own.give_up("east", "west", override=WHY)
        (said,) = records[StepName.GATHER_EVIDENCE].facts["measurements"]["others_hold"]
        assert "that stays there, and north is not copied from west" in said
        assert "fetched" not in records[StepName.FENCE].facts
        assert of_topics(own, own.contents("west")) == of_topics(own, before)
        role_until(own, "north", "diverged")
    assert of_topics(own, own.contents("north")) == of_topics(own, held)


def test_a_run_that_is_abandoned_after_it_fetched_leaves_no_flow_that_copies_it_again(
    own: GroupOfThree, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = west_lags(own)
    with monkeypatch.context() as patched:
        dying(patched, "after it has committed")
        with pytest.raises(Killed):
            own.give_up("east", "west", override=WHY)
    with own.protection.clients() as clients:
        resume(ResumeRequest(own.name, "abandon", reason="a test", confirmed=True), clients)
    assert own.roles == {"east": "active", "west": "diverged", "north": "copy"}
    assert operator_writes(own, "west") == []
    log = own.contents("west")
    assert all(list(each) == list(held[p][: len(each)]) for p, each in of_topics(own, log).items())
    own.protection.lab.restart(outside_view.broker_of("east"))
    eventually(lambda: own.contents("east"))
    own.protection.produce("east", 20)
    eventually(lambda: own.flows() and of_topics(own, own.contents("north")) == of_topics(own, own.contents("east")))
    assert of_topics(own, own.contents("west")) == of_topics(own, log)


def killed_while_it_fetches(own: GroupOfThree, when: str, monkeypatch: pytest.MonkeyPatch) -> Logs:
    """Let a failover to west die after it has fetched something from north; return what north holds."""
    held = west_lags(own)
    with monkeypatch.context() as patched:
        dying(patched, when)
        with pytest.raises(Killed):
            own.give_up("east", "west", override=WHY)
    return held


def test_whatever_runs_before_anybody_looks_a_cluster_that_was_fetched_to_is_not_copied_to_at_its_old_position(
    own: GroupOfThree, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection = own.protection
    held = killed_while_it_fetches(own, "after it has committed", monkeypatch)
    # Another run takes the group from it, to north, and is given up.
    with monkeypatch.context() as patched:
        patched.setattr(fetch, "act", dies)
        with pytest.raises(Killed):
            own.give_up("east", "north", override=WHY)
    with protection.clients() as clients:
        resume(ResumeRequest(own.name, "abandon", reason="a test", confirmed=True), clients)
    assert own.roles == {"east": "active", "west": "copy", "north": "copy"}
    assert operator_writes(own, "west") == []
    log = own.contents("west")
    assert all(list(each) == list(held[p][: len(each)]) for p, each in of_topics(own, log).items())
    protection.lab.restart(outside_view.broker_of("east"))
    eventually(lambda: own.contents("east"))

    # A planned failover to west is refused. Were one to hold the group all the same, its roll back lets nothing flow.
    with pytest.raises(StepFailed) as refused:
        own.move("east", "west")
    assert {"flow_can_be_fenced", "flow_moves"} <= {
        each.name for each in refused.value.record.checks if not each.passes
    }
    state = own.state
    claim = transitions.claimed(
        state, run="run-planned", verb="planned_failover", source="east", target="west",
        highest_epoch=state.epoch, evidence_sha256="", approved_by="alice", at=datetime.now(UTC),
    )  # fmt: skip
    with protection.clients() as clients:
        for name in ("east", "north", "west"):
            register = clients.register(name)
            register.compare_and_set(register.read(own.name), claim)
            register.write_fact(own.name, "run-planned", "claim", {"verb": "planned_failover", "target": "west"})
        resume(ResumeRequest(own.name, "abandon", reason="a test", confirmed=True), clients)
    assert (own.state.verb, own.roles["west"]) == ("roll_back", "copy")
    protection.produce("east", 20)
    role_until(own, "west", "diverged")
    eventually(lambda: of_topics(own, own.contents("north")) == of_topics(own, own.contents("east")))
    assert of_topics(own, own.contents("west")) == of_topics(own, log)


def dies(*_: Any) -> Any:
    raise Killed


def test_of_a_cluster_that_was_fetched_to_the_end_is_found_by_content_once_another_one_was_opened(
    own: GroupOfThree, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = killed_while_it_fetches(own, "after it has committed", monkeypatch)
    own.give_up("east", "north", override=WHY)
    assert own.roles == {"east": "unfenced", "north": "active", "west": "pending"}
    assert own.protection.produce("north", 20) == 20
    role_until(own, "west", "copy")
    eventually(lambda: own.contents("west") == own.contents("north"))
    log = of_topics(own, own.contents("west"))
    assert {p: list(each[: len(held[p])]) for p, each in log.items()} == {
        p: list(each) for p, each in of_topics(own, held).items()
    }


def test_among_many_fetched_records_an_offset_is_found_by_way_of_the_standby_that_they_came_from(
    own: GroupOfThree, monkeypatch: pytest.MonkeyPatch
) -> None:
    protection = own.protection
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    wanted = {first: 190, second: 210}
    protection.commit("east", f"{own.name}-among", wanted)
    with monkeypatch.context() as patched:
        # As if so many had been fetched that nobody can count them.
        patched.setattr(without_source, "MOST_COUNTED", 10)
        patched.setattr(fetching, "_MOST_RECORDS", 8)
        held = west_lags(own, more=500)
        copied = {p: len(own.contents("west")[p]) for p in wanted}
        own.give_up("east", "west", override=WHY)
    assert of_topics(own, own.contents("west")) == of_topics(own, held)
    there = outside_view.committed(protection, "west")[f"{own.name}-among"]
    reads = outside_view.next_values(protection, "west", there)
    for p, offset in wanted.items():
        at = [content[2] for content in held[p]].index(reads[p])
        # The flow to north has synced every 100 records; without that the group would begin where the fetch did.
        assert max(copied[p] + 1, offset - 130) <= at <= offset, (p, at, copied[p])
