"""The same tests for both registers: the one in memory must behave like the one on Kafka."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    ClientSettings,
    KafkaCluster,
    PatternType,
    ResourceType,
    TopicPartition,
)
from kafka_dr.clusters.writing import NewRecord, TransactionalWriter
from kafka_dr.errors import NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr.register import (
    REGISTER_TOPIC,
    KafkaRegister,
    Phase,
    Register,
    RegisterConflict,
    RegisterState,
    records,
)
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.holding import FINAL_AT_HAND_OVER, Author
from lab.api import Lab
from lab.rights import OPERATOR
from support.memory_register import MemoryRegister
from support.register_states import a_state
from support.waiting import settled

TESTS = Path(__file__).resolve().parents[1]
DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)


@pytest.fixture
def group() -> str:
    return f"g{uuid.uuid4().hex[:8]}"


def east(lab: Lab, principal: str = OPERATOR, *, request_seconds: float = 10.0) -> KafkaCluster:
    settings = ClientSettings.from_librdkafka(lab.client_settings("east", principal))
    return KafkaCluster("east", settings, request_seconds=request_seconds)


@pytest.fixture
def real(lab: Lab) -> Iterator[KafkaRegister]:
    with east(lab) as cluster:
        register = KafkaRegister(cluster, SystemClock())
        register.create(replication_factor=1)
        yield register


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.kafka)])
def register(request: pytest.FixtureRequest) -> Register:
    found: Register = MemoryRegister() if request.param == "memory" else request.getfixturevalue("real")
    return found


def test_a_new_group_has_no_record_and_no_history(register: Register, group: str) -> None:
    assert register.read(group) is None
    assert register.facts(group, "run-1") == register.history(group) == {}
    assert register.added_acls(group, "east") == AddedAcls()


def test_the_first_record_is_written_where_none_is_expected(register: Register, group: str) -> None:
    register.compare_and_set(None, a_state(group=group))
    assert register.read(group) == a_state(group=group)


def test_a_record_replaces_the_expected_one(register: Register, group: str) -> None:
    first, second = a_state(group=group), a_state(group=group, epoch=2, phase=Phase.SWITCHING)
    register.compare_and_set(None, first)
    register.compare_and_set(first, second)
    assert register.read(group) == second


@pytest.mark.parametrize("expected", [None, a_state(epoch=7)], ids=["nothing", "another"])
def test_a_record_that_is_not_the_expected_one_stays(register: Register, group: str, expected: RegisterState) -> None:
    first = a_state(group=group)
    register.compare_and_set(None, first)
    with pytest.raises(
        RegisterConflict, match="but holds epoch 1 revision 0: stable, east active, by run adoption"
    ) as caught:
        register.compare_and_set(expected, a_state(group=group, epoch=2))
    assert caught.value.found == first
    assert register.read(group) == first


def test_a_record_is_not_written_if_one_is_expected_and_there_is_none(register: Register, group: str) -> None:
    with pytest.raises(RegisterConflict, match="holds no record"):
        register.compare_and_set(a_state(group=group), a_state(group=group, epoch=2))
    assert register.read(group) is None


def test_writing_the_present_record_succeeds_whatever_was_expected(register: Register, group: str) -> None:
    state = a_state(group=group, epoch=2)
    register.compare_and_set(None, state)
    register.compare_and_set(a_state(group=group), state)
    register.compare_and_set(None, state)
    assert register.read(group) == state


def test_groups_do_not_touch_each_other(register: Register, group: str) -> None:
    register.compare_and_set(None, a_state(group=group))
    register.compare_and_set(None, a_state(group=f"{group}2", epoch=5))
    assert register.read(group) == a_state(group=group)


def test_a_copy_only_replaces_older_records(register: Register, group: str) -> None:
    older, newer = a_state(group=group), a_state(group=group, epoch=2, revision=1)
    assert register.copy(newer) == newer
    assert register.copy(newer) == newer
    assert register.copy(older) == newer
    assert register.read(group) == newer
    newest = a_state(group=group, epoch=3)
    assert register.copy(newest) == register.read(group) == newest


def test_a_copy_that_contradicts_the_present_record_needs_a_person(register: Register, group: str) -> None:
    register.copy(a_state(group=group))
    with pytest.raises(NeedsPerson, match="contradict each other"):
        register.copy(a_state(group=group, active="west", standby="east"))
    assert register.read(group) == a_state(group=group)


def test_a_fact_replaces_an_earlier_one_whatever_their_sizes(register: Register, group: str) -> None:
    large = {"ends": ["x" * 1000] * 1200}
    for payload in ({"n": 1}, {"n": 2}, large, {"n": 3}):
        register.write_fact(group, "run-1", "ends", payload)
        assert register.facts(group, "run-1") == {"ends": payload}


def test_a_fact_that_is_added_never_replaces_one_and_its_writer_learns_which_it_is(
    register: Register, group: str
) -> None:
    register.compare_and_set(None, a_state(group=group))
    assert register.add_fact(group, "run-1", "answer.1", {"approved": False}) == {"approved": False}
    assert register.add_fact(group, "run-1", "answer.1", {"approved": True}) == {"approved": False}
    assert register.add_fact(group, "run-2", "answer.1", {"approved": True}) == {"approved": True}
    assert register.facts(group, "run-1") == {"answer.1": {"approved": False}}
    assert register.read(group) == a_state(group=group)


def _author(run: str = "run-1", epoch: int = 2, attempt: int = 1, *, holds: bool = True) -> Author:
    return Author(run, epoch, attempt, holds=holds)


def _switching(group: str, **changes: Any) -> RegisterState:
    return a_state(**{"group": group, "epoch": 2, "phase": Phase.SWITCHING, "run": "run-1", "attempt": 1, **changes})


@pytest.mark.parametrize(
    "held", [{"run": "run-2"}, {"epoch": 3}, {"attempt": 2}], ids=["another run", "another epoch", "another attempt"]
)
def test_only_the_process_that_holds_the_group_journals_what_licenses_an_act(
    register: Register, group: str, held: dict[str, Any]
) -> None:
    register.compare_and_set(None, _switching(group))
    register.write_fact(group, "run-1", "target_ends", {"n": 1}, by=_author())
    register.compare_and_set(_switching(group), _switching(group, revision=1, **held))
    with pytest.raises(Refused, match=r"attempt 1 of run run-1 .* may not journal target_ends"):
        register.write_fact(group, "run-1", "target_ends", {"n": 2}, by=_author())
    assert register.facts(group, "run-1") == {"target_ends": {"n": 1}}


def test_without_a_record_nobody_holds_the_group(register: Register, group: str) -> None:
    with pytest.raises(Refused, match="in no record"):
        register.write_fact(group, "run-1", "target_ends", {"n": 1}, by=_author())
    assert register.facts(group, "run-1") == {}


@pytest.mark.parametrize("holds", [True, False], ids=["decides", "does not decide"])
def test_a_final_fact_never_changes_after_the_hand_over_and_others_do(
    register: Register, group: str, holds: bool
) -> None:
    handed_over = _switching(group, revision=1, phase=Phase.HANDED_OVER, active="west", standby="east")
    register.compare_and_set(None, handed_over)
    for fact in FINAL_AT_HAND_OVER:
        with pytest.raises(Refused, match="never changes after the hand-over"):
            register.write_fact(group, "run-1", fact, {"n": 1}, by=_author(holds=holds))
    register.write_fact(group, "run-1", "opened", {"n": 1}, by=_author(holds=holds))
    assert register.facts(group, "run-1") == {"opened": {"n": 1}}


def test_where_the_register_does_not_decide_an_earlier_attempt_replaces_nothing(register: Register, group: str) -> None:
    large = {"ends": ["x" * 1000] * 1200}
    first, second = _author(holds=False), _author(attempt=2, holds=False)
    register.compare_and_set(None, _switching(group, attempt=0))
    for by, payload in ((None, {"n": 0}), (first, {"n": 1}), (second, large), (second, {"n": 2})):
        register.write_fact(group, "run-1", "target_ends", payload, by=by)
        assert register.facts(group, "run-1") == {"target_ends": payload}
    with pytest.raises(Refused, match="as attempt 2 of epoch 2 wrote it"):
        register.write_fact(group, "run-1", "target_ends", {"n": 1}, by=first)
    register.compare_and_set(_switching(group, attempt=0), _switching(group, epoch=3))
    with pytest.raises(Refused, match="epoch 3"):
        register.write_fact(group, "run-1", "target_ends", {"n": 1}, by=second)
    assert register.facts(group, "run-1") == {"target_ends": {"n": 2}}


def test_facts_are_kept_by_run_and_do_not_change_the_record(register: Register, group: str) -> None:
    register.compare_and_set(None, a_state(group=group))
    register.write_fact(group, "manual__2026-03-14T15:09:26+00:00", "a", {"n": 1})
    register.write_fact(group, "run-2", "b", {"n": 2})
    assert register.facts(group, "run-2") == {"b": {"n": 2}}
    assert register.history(group) == {"manual__2026-03-14T15:09:26+00:00": {"a": {"n": 1}}, "run-2": {"b": {"n": 2}}}
    assert register.read(group) == a_state(group=group)


def test_added_acls_are_kept_by_cluster(register: Register, group: str) -> None:
    register.change_added_acls(group, "east", lambda found: found.adding({DENY}, epoch=1))
    added = register.added_acls(group, "east")
    assert (added.current, added.lifted, added.epoch) == (frozenset({DENY}), frozenset[Acl](), 1)
    assert register.added_acls(group, "west") == AddedAcls()
    register.change_added_acls(group, "east", lambda found: found.lifting({DENY}, epoch=2))
    lifted = register.added_acls(group, "east")
    assert (lifted.current, lifted.lifted, lifted.epoch) == (frozenset[Acl](), frozenset({DENY}), 2)


def test_a_change_of_added_acls_that_is_refused_writes_nothing(register: Register, group: str) -> None:
    def refused(_: AddedAcls) -> AddedAcls:
        raise Refused("not any more")

    with pytest.raises(Refused, match="not any more"):
        register.change_added_acls(group, "east", refused)
    assert register.added_acls(group, "east") == AddedAcls()


@pytest.mark.kafka
def test_of_two_changes_of_added_acls_at_the_same_moment_none_is_lost(
    lab: Lab, real: KafkaRegister, group: str
) -> None:
    other = replace(DENY, principal="User:other")
    once = [None]

    def adding(found: AddedAcls) -> AddedAcls:
        if once:
            once.pop()
            with east(lab) as cluster:
                faster = KafkaRegister(cluster, SystemClock())
                faster.change_added_acls(group, "east", lambda seen: seen.adding({other}, epoch=1))
        return found.adding({DENY}, epoch=1)

    real.change_added_acls(group, "east", adding)
    assert real.added_acls(group, "east").current == {DENY, other}


@pytest.mark.kafka
def test_a_compare_waits_for_another_groups_open_transaction(lab: Lab, real: KafkaRegister, group: str) -> None:
    first, second, third = (a_state(group=group, epoch=epoch) for epoch in (1, 2, 3))
    real.compare_and_set(None, first)
    register_partition = TopicPartition(REGISTER_TOPIC, 0)
    with east(lab, "admin") as admin, ThreadPoolExecutor(1) as pool:
        stranger = admin._session.producer({"transactional.id": f"kafka-dr-register-{group}-other"})
        stranger.init_transactions(10)
        stranger.begin_transaction()
        stranger.produce(REGISTER_TOPIC, key=f"group/{group}-other", value=b"x", partition=0)
        stranger.flush(10)
        # The group's record changes after it, where a reader of committed records cannot read yet.
        admin.writing.append([NewRecord(register_partition, records.group_key(group), second.to_json())])
        late = pool.submit(real.compare_and_set, first, third)
        time.sleep(1.0)
        assert not late.done(), "it compared before it had read everything"
        stranger.abort_transaction(10)
        with pytest.raises(RegisterConflict) as caught:
            late.result(20)
    assert caught.value.found == second
    assert real.read(group) == second


@pytest.mark.kafka
def test_of_two_processes_that_claim_at_once_exactly_one_wins(lab: Lab, real: KafkaRegister, group: str) -> None:
    real.compare_and_set(None, a_state(group=group))
    claims = {run: _claimer(lab, group, run) for run in ("run-1", "run-2")}
    for claim in claims.values():
        assert claim.stdout is not None
        assert claim.stdout.readline() == "ready\n"
    for claim in claims.values():
        assert claim.stdin is not None
        claim.stdin.write("go\n")
        claim.stdin.flush()
    said = {run: claim.communicate(timeout=60)[0].strip() for run, claim in claims.items()}
    assert sorted(said.values()) == ["lost", "won"]
    state = real.read(group)
    assert state is not None
    assert said[state.run] == "won"


def _claimer(lab: Lab, group: str, run: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "support.claim_process", str(lab.home.root), group, run],
        cwd=TESTS, env={"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'include'}", "PATH": ""},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.kafka
@pytest.mark.parametrize("written", [True, False], ids=["it was written", "it was not"])
def test_a_commit_whose_answer_is_lost_is_read_back(
    real: KafkaRegister, group: str, written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = TransactionalWriter._commit
    lost: list[TransactionalWriter] = []

    def commit_and_lose_the_answer(writer: TransactionalWriter, doing: str) -> None:
        if lost:
            commit(writer, doing)
            return
        lost.append(writer)
        if written:
            commit(writer, doing)
        raise OutcomeUnknown("the answer was lost")

    monkeypatch.setattr(TransactionalWriter, "_commit", commit_and_lose_the_answer)
    real.compare_and_set(None, a_state(group=group))
    assert lost
    assert real.read(group) == a_state(group=group)


@pytest.mark.kafka
def test_changes_by_others_since_the_last_read_are_seen(lab: Lab, real: KafkaRegister, group: str) -> None:
    assert real.read(group) is None
    with east(lab) as other:
        theirs = KafkaRegister(other, SystemClock())
        for epoch in (1, 2):
            before = real.read(group)
            theirs.compare_and_set(before, a_state(group=group, epoch=epoch))
            assert real.read(group) == theirs.read(group) == a_state(group=group, epoch=epoch)
        theirs.write_fact(group, "run-1", "claim", {"epoch": 2})
    assert real.facts(group, "run-1") == {"claim": {"epoch": 2}}


@pytest.mark.kafka
@pytest.mark.parametrize("asleep_seconds", [3.0, 90.0], ids=["wakes in time", "wakes too late"])
def test_a_broker_that_hangs_during_a_commit_leaves_a_known_outcome(
    lab: Lab, group: str, asleep_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = TransactionalWriter._commit
    alarm = threading.Timer(asleep_seconds, lab.resume, ["east-broker-1"])

    def commit_to_a_hanging_broker(writer: TransactionalWriter, doing: str) -> None:
        if not alarm.is_alive():
            lab.pause("east-broker-1")
            alarm.start()
        commit(writer, doing)

    with east(lab, request_seconds=2.0) as cluster:
        register = KafkaRegister(cluster, SystemClock(), deadline_seconds=20.0 if asleep_seconds < 5 else 3.0)
        register.create(replication_factor=1)
        monkeypatch.setattr(TransactionalWriter, "_commit", commit_to_a_hanging_broker)
        state = a_state(group=group)
        try:
            if asleep_seconds < 5:
                register.compare_and_set(None, state)
            else:
                with pytest.raises(OutcomeUnknown):
                    register.compare_and_set(None, state)
        finally:
            if asleep_seconds >= 5:
                alarm.cancel()  # whoever asked has given up by now, however long that took
            alarm.join()
            lab.resume("east-broker-1")
        monkeypatch.setattr(TransactionalWriter, "_commit", commit)
        assert _read_when_awake(register, group) in ((state,) if asleep_seconds < 5 else (state, None))
        KafkaRegister(cluster, SystemClock(), deadline_seconds=60.0).compare_and_set(None, state)
        settled(cluster, (1,))
        assert register.read(group) == state


def _read_when_awake(register: KafkaRegister, group: str) -> RegisterState | None:
    deadline = time.monotonic() + 30
    while True:
        try:
            return register.read(group)
        except TryAgain:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
