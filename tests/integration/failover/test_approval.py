"""A run acts on an approval only if an approver gave it, it is fresh and its facts still hold; else nothing changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import Answer, journal_of
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import Refused
from kafka_dr.quoting import markdown
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def asked() -> dict[str, tuple[RunRequest, Answer]]:
    """Hold the one question that the tests of this file answer, by group."""
    return {}


@pytest.fixture
def good(group: SwitchedGroup, asked: dict[str, tuple[RunRequest, Answer]]) -> tuple[RunRequest, Answer]:
    """Return a run whose approval was asked for, and an answer that lets it continue."""
    if group.name not in asked:
        request = group.request()
        with group.protection.clients() as clients:
            run_step(StepName.PREFLIGHT, request, clients)
            question = ask_approval(request, clients)
        asked[group.name] = (request, Answer(True, "alice", datetime.now(UTC), question.digest))
    return asked[group.name]


def test_an_approval_is_not_asked_before_a_good_preflight(group: SwitchedGroup) -> None:
    request = group.request()
    nothing = "has no preflight with the outcome done, so there is nothing to approve"
    with group.protection.clients() as clients, pytest.raises(Refused, match=nothing):
        ask_approval(request, clients)


def test_the_question_names_what_is_approved(group: SwitchedGroup, good: tuple[RunRequest, Answer]) -> None:
    request, answer = good
    with group.protection.clients() as clients:
        question = ask_approval(request, clients)

    assert question.subject == (f"Planned failover: move {group.name} from {group.active} to {group.standby}?")
    assert question.digest == answer.digest
    assert f"`{question.digest[:16]}" in question.body
    assert tuple(person.name for person in question.approvers) == group.protection.group.approvers
    excused = "unknown but allowed by policy (audits.before_failover is not_red): no"
    assert f"* **excused** `checksum_audit`: {markdown(excused)}" in question.body
    assert f"* **What moves**: **{group.name}** goes from **{group.active}** to **{group.standby}**" in question.body
    for said in ("`content_verified`", markdown(f"{group.name}-slow")):
        assert said in question.body
    assert "a test" in question.written


def test_nothing_is_claimed_while_nobody_has_answered(group: SwitchedGroup, good: tuple[RunRequest, Answer]) -> None:
    record = _claim_refused(group, good[0], None)

    nothing = f"has no answer to approval of run {good[0].run} that was given in time, and only the register counts"
    assert nothing in record.detail


def test_a_rejection_ends_the_run_and_changes_nothing(group: SwitchedGroup, good: tuple[RunRequest, Answer]) -> None:
    record = _claim_refused(group, good[0], replace(good[1], approved=False))

    assert "it was rejected" in record.detail


def test_an_answer_that_is_too_old_is_not_acted_upon(group: SwitchedGroup, good: tuple[RunRequest, Answer]) -> None:
    old = replace(good[1], responded_at=datetime.now(UTC) - timedelta(seconds=901))
    record = _claim_refused(group, good[0], old)

    assert re.search(r"the approval is 15 min \d+ s old, 15 min are allowed: trigger a new run", record.detail)


def test_an_answer_that_comes_too_late_does_not_count_wherever_it_is_written(
    group: SwitchedGroup, good: tuple[RunRequest, Answer]
) -> None:
    with group.protection.clients() as clients:
        question = ask_approval(good[0], clients)
        late = replace(good[1], responded_at=question.expires_at)
        with pytest.raises(
            StepFailed, match=r"approved by alice at .*, too late, as the question was open until"
        ) as refused:
            record_answer(good[0], clients, late)
        # Somebody who can write the register writes it there all the same.
        journal = journal_of(Run(good[0], clients))
        asked = journal.asked(StepName.APPROVAL)
        assert asked is not None
        journal.answer(late, asked, StepName.APPROVAL)
    assert refused.value.record.outcome == "refused"

    record = _claim_refused(group, good[0], None, asked_again=False)

    assert "has no answer to approval" in record.detail


def test_an_answer_about_something_else_is_not_acted_upon(
    group: SwitchedGroup, good: tuple[RunRequest, Answer]
) -> None:
    with group.protection.clients() as clients:
        ask_approval(good[0], clients)
        with pytest.raises(StepFailed, match="with the digest of other facts"):
            record_answer(good[0], clients, replace(good[1], digest="0" * 64))
    record = _claim_refused(group, good[0], None, asked_again=False)

    assert "has no answer to approval" in record.detail


def test_an_answer_by_somebody_who_is_no_approver_does_not_count(
    group: SwitchedGroup, good: tuple[RunRequest, Answer]
) -> None:
    carol = replace(good[1], responder="carol")
    with group.protection.clients() as clients:
        ask_approval(good[0], clients)
        with pytest.raises(StepFailed, match="carol, who may not give this answer") as refused:
            record_answer(good[0], clients, carol)
    assert refused.value.record.outcome == "refused"

    record = _claim_refused(group, good[0], None, asked_again=False)

    assert "has no answer to approval" in record.detail


@pytest.fixture
def intruder(group: SwitchedGroup) -> Iterator[Acl]:
    """Let an undeclared principal write after the approval."""
    allow = Acl(
        ResourceType.TOPIC,
        group.protection.topic,
        PatternType.LITERAL,
        "User:intruder",
        AclOperation.WRITE,
        AclPermission.ALLOW,
    )
    with group.protection.cluster(group.active, "admin") as admin:
        admin.acls.add([allow])
        yield allow
        admin.acls.remove([allow])


def test_a_writer_that_appears_after_the_question_supersedes_the_approval(
    group: SwitchedGroup, good: tuple[RunRequest, Answer], intruder: Acl
) -> None:
    record = _claim_refused(group, good[0], good[1])

    assert "the approval is superseded; trigger a new run" in record.detail
    assert "writers_declared was ok, is failed" in record.detail


def test_a_partition_that_appears_after_the_question_supersedes_the_approval(
    group: SwitchedGroup, good: tuple[RunRequest, Answer]
) -> None:
    topic = f"{group.name}.added"
    for cluster in ("east", "west"):
        with group.protection.cluster(cluster, "admin") as admin:
            admin.topics.create(topic, partitions=1, replication_factor=1, config={})

    record = _claim_refused(group, good[0], good[1], flow_is_still=False)

    assert "the approval is superseded; trigger a new run" in record.detail
    assert f"'{topic}': 1" in record.detail


def test_two_switches_supersede_an_approval_of_an_earlier_epoch(group: SwitchedGroup) -> None:
    stale = group.go(StepName.PREFLIGHT)
    rolled_back = group.go(StepName.CLAIM)
    group.roll_back(rolled_back)

    with group.protection.clients() as clients:
        record = failed(StepName.CLAIM, stale, clients)

    assert record.outcome == "refused"
    assert "epoch was " in record.detail
    assert "the approval is superseded; trigger a new run" in record.detail


def _claim_refused(
    group: SwitchedGroup,
    request: RunRequest,
    answer: Answer | None,
    *,
    asked_again: bool = True,
    flow_is_still: bool = True,
) -> StepRecord:
    """Answer, let the run claim the group, and check that this is refused and has changed nothing.

    :param flow_is_still: whether no other change restarts the flow's tasks at this moment
    """
    before = outside_view.look(group.protection)
    with group.protection.clients() as clients:
        if asked_again:
            ask_approval(request, clients)
        if answer is not None:
            record_answer(request, clients, answer)
        record = failed(StepName.CLAIM, request, clients)
        undone = roll_back(request, clients)

    assert record.outcome == "refused"
    assert "there is nothing to undo" in undone.detail
    after = outside_view.look(group.protection)
    assert after == before if flow_is_still else after == replace(before, connectors=after.connectors)
    return record
