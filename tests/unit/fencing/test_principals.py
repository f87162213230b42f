"""One check for all principals: it is as good as its worst part, and who cannot be asked is unknown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.clusters import TopicPartition, WriteAnswer, WriteVerdict
from kafka_dr.clusters.read_permission import ReadVerdict
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.fencing.principals import Credential, Questions, together
from kafka_dr.outcomes import Check
from support.manual_clock import ManualClock
from support.sentences import assert_sentence

PARTITIONS = (TopicPartition("orders.a", 0), TopicPartition("orders.a", 1))
GROUPS = ("orders-a", "orders-b")


def one(
    who: str,
    *,
    writes: tuple[WriteVerdict, WriteVerdict] = ("refused", "refused"),
    reads: tuple[ReadVerdict, ReadVerdict] = (ReadVerdict.REFUSED, ReadVerdict.REFUSED),
    error: KafkaDrError | None = None,
) -> Credential:
    def ask_writes(partitions: Any, *, seen_by: object, led: object = None) -> tuple[WriteAnswer, ...]:
        if error:
            raise error
        return tuple(WriteAnswer(p, verdict, verdict) for p, verdict in zip(partitions, writes, strict=True))

    def ask_reads(groups: Any, *, seen_by: object) -> dict[str, ReadVerdict]:
        if error:
            raise error
        return dict(zip(groups, reads, strict=False))

    reached = SimpleNamespace(
        name="north", write_permission=SimpleNamespace(ask=ask_writes), read_permission=SimpleNamespace(ask=ask_reads)
    )
    return Credential(f"User:{who}", cast("Any", reached))


def questions(*credentials: Credential) -> Questions:
    seen_by = SimpleNamespace(name="north", topics=None, group_coordinators=None)
    return Questions(cast("Any", seen_by), credentials, ManualClock(), 5.0)


def test_every_principal_that_is_refused_everywhere_is_fenced() -> None:
    found = questions(one("a"), one("b")).writes_refused(PARTITIONS)
    assert found.outcome == "ok"
    assert_sentence(found.detail)


def test_one_that_may_write_to_one_partition_is_named_and_nobody_else() -> None:
    found = questions(one("a"), one("b", writes=("refused", "allowed"))).writes_refused(PARTITIONS)
    assert found.outcome == "failed"
    assert_sentence(found.detail)
    assert found.facts == {"principals": {"User:a": "ok", "User:b": "failed"}}


@pytest.mark.parametrize(
    "unproven",
    [Credential("User:b", None), one("b", error=KafkaDrError("no login")), one("b", error=TryAgain("no answer"))],
)
def test_one_that_cannot_be_asked_is_unknown_whatever_the_others_are(unproven: Credential) -> None:
    asked = questions(one("a"), unproven)
    for found in (asked.writes_refused(PARTITIONS), asked.reads_refused(GROUPS)):
        assert found.outcome == "unknown"
        assert found.facts["principals"] == {"User:a": "ok", "User:b": "unknown"}
    assert asked.writes_allowed(PARTITIONS, GROUPS).facts["principals"]["User:b"] == "unknown"


def test_nobody_is_no_proof() -> None:
    assert questions().writes_refused(PARTITIONS).outcome == "unknown"
    assert questions(one("a")).writes_refused(()).outcome == "unknown", "without a topic no leader can be asked"


def test_a_group_that_one_may_still_read_fails_and_one_that_does_not_answer_is_unknown() -> None:
    reads = questions(one("a", reads=(ReadVerdict.REFUSED, ReadVerdict.ALLOWED))).reads_refused(GROUPS)
    assert reads.outcome == "failed"
    assert_sentence(reads.detail)
    silent = questions(one("a", reads=(ReadVerdict.UNKNOWN, ReadVerdict.REFUSED))).reads_refused(GROUPS)
    assert silent.outcome == "unknown"
    assert questions(one("a")).reads_refused(()).outcome == "ok"


def test_a_principal_may_work_if_it_may_write_somewhere_or_only_read() -> None:
    writes = one("writes", writes=("refused", "allowed"))
    reads = one("reads", reads=(ReadVerdict.ALLOWED, ReadVerdict.REFUSED))
    found = questions(writes, reads, one("neither")).writes_allowed(PARTITIONS, GROUPS)
    assert found.outcome == "unknown", "its connection may belong to somebody else"
    assert found.facts["principals"] == {"User:neither": "unknown", "User:reads": "ok", "User:writes": "ok"}


def test_readers_may_read_in_one_group_and_without_groups_nobody_has_to() -> None:
    reader = one("a", reads=(ReadVerdict.REFUSED, ReadVerdict.ALLOWED))
    assert questions(reader).reads_allowed(GROUPS).outcome == "ok"
    assert questions(one("a")).reads_allowed(GROUPS).outcome == "unknown"
    assert questions(one("a")).reads_allowed(()).outcome == "ok"


def test_all_together_are_as_good_as_the_worst() -> None:
    ok, unknown, failed = (Check("x", outcome, outcome) for outcome in ("ok", "unknown", "failed"))
    assert together("x", {"a": ok, "b": unknown}, cluster="north", good="").outcome == "unknown"
    assert together("x", {"a": unknown, "b": failed}, cluster="north", good="").outcome == "failed"
