"""What is found about passwords, deletions and audits: each broken in exactly one way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lab.invariants.audits import Audit, Matched, audits_in, check_audits
from lab.invariants.check import check_invariants, not_judged
from lab.invariants.deletions import Agreed, check_deletions
from lab.invariants.model import LogRecord, Partition
from lab.invariants.secrets import check_secrets, held_in
from support.healthy_switch import PERIODS, healthy, number

SECRETS = {"kafka/east/probe": "s3cret-of-the-probe", "airflow/alice": "s3cret-of-alice"}
ARGV = {"east-broker-1 (7)": "java kafka.Kafka server.properties"}
FIRST = Partition("payments", 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A lab's folder in which passwords are only in the files made for them."""
    put(tmp_path / "credentials.json", json.dumps(SECRETS))
    put(tmp_path / "clients" / "east" / "probe.properties", "sasl.password=s3cret-of-the-probe")
    put(tmp_path / "logs" / "airflow.log", "all went well", mode=0o644)
    return tmp_path


def put(path: Path, text: str, *, mode: int = 0o600) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def outcome_of(home: Path, *, argv: dict[str, str] = ARGV, connectors: dict[str, str] | None = None) -> str:
    return check_secrets(home, SECRETS, argv=argv, connectors=connectors or {}).outcome


def test_passwords_may_be_in_the_files_that_are_made_for_them(home: Path) -> None:
    found = check_secrets(home, SECRETS, argv=ARGV, connectors={"dr.orders": "${file:secrets}"})
    assert found.outcome == "held"
    assert "3 files, 1 processes and 1 connectors" in found.sentence


def test_a_password_in_a_log_breaks_i8_and_is_not_said_again(home: Path) -> None:
    put(home / "logs" / "airflow.log", "connecting with s3cret-of-the-probe")
    found = check_secrets(home, SECRETS, argv=ARGV, connectors={})
    assert found.outcome == "violated"
    assert found.examples == ("logs/airflow.log (mode 600) holds the password of kafka/east/probe",)


def test_a_password_file_that_others_can_read_breaks_i8(home: Path) -> None:
    (home / "clients" / "east" / "probe.properties").chmod(0o640)
    assert outcome_of(home) == "violated"


def test_a_password_among_arguments_or_in_a_connector_breaks_i8(home: Path) -> None:
    assert outcome_of(home, argv={"spark (9)": "--conf password=s3cret-of-alice"}) == "violated"
    assert outcome_of(home, connectors={"dr.orders": "sasl.jaas.config=s3cret-of-the-probe"}) == "violated"


def test_a_password_is_found_anywhere_in_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "segment.log"
    for before in ((1 << 20) - 5, (1 << 21) - 1, 0):
        path.write_bytes(b"x" * before + b"s3cret-of-alice" + b"x" * 99)
        assert held_in(path, SECRETS) == ["airflow/alice"]


def test_where_there_was_nothing_to_look_at_i8_is_unknown(home: Path) -> None:
    assert outcome_of(home, argv={}) == "unknown"


BEFORE = {"east": {"orders.payments": "old"}, "west": {"orders.payments": "copy"}}
AFTER = {"east": {"orders.payments": "new"}, "west": {"orders.payments": "copy"}}
AGREED = Agreed("east", {"orders.payments": "old"}, ("alice", "bob"))


def test_what_two_people_agreed_to_delete_may_be_deleted() -> None:
    assert check_deletions(BEFORE, BEFORE, agreed=None).outcome == "held"
    assert check_deletions(BEFORE, AFTER, agreed=AGREED).outcome == "held"


@pytest.mark.parametrize(
    "agreed",
    [
        None,
        replace(AGREED, deletes={"orders.payments": "another"}),
        replace(AGREED, cluster="west"),
        replace(AGREED, people=("alice", "alice")),
        replace(AGREED, people=()),
    ],
)
def test_anything_else_that_is_gone_breaks_i7(agreed: Agreed | None) -> None:
    assert check_deletions(BEFORE, AFTER, agreed=agreed).outcome == "violated"


def test_what_was_gone_from_both_clusters_breaks_i7_although_one_deletion_was_agreed_to() -> None:
    assert check_deletions(BEFORE, {"east": {}, "west": {}}, agreed=AGREED).outcome == "violated"


def test_where_nothing_was_there_i7_is_unknown() -> None:
    assert check_deletions({}, AFTER, agreed=AGREED).outcome == "unknown"


IDS = {"west": {"payments": "w"}, "east": {"payments": "e"}}
AUDIT = Audit(
    "a", "west", "east", {FIRST: 3}, (Matched(FIRST, ("w", "e"), 10, 4, 2), Matched(FIRST, ("w", "e"), 13, 6, 1))
)
LOGS: dict[str, dict[Partition, tuple[LogRecord, ...]]] = {
    "west": {
        FIRST: (LogRecord(10, number(1)), LogRecord(11, number(2)), LogRecord(13, number(3)), LogRecord(14, number(4)))
    },
    "east": {FIRST: (LogRecord(4, number(1)), LogRecord(5, number(2)), LogRecord(6, number(3)))},
}


def test_records_that_an_audit_called_equal_are_looked_up() -> None:
    found = check_audits([AUDIT], logs=LOGS, ids=IDS)
    assert found.outcome == "held"
    assert "3 records" in found.sentence


@pytest.mark.parametrize(
    "audit",
    [
        replace(AUDIT, matched=(*AUDIT.matched, Matched(FIRST, ("w", "e"), 14, 7, 1))),
        replace(AUDIT, matched=(*AUDIT.matched, Matched(FIRST, ("w", "e"), 12, 6, 1))),
        replace(AUDIT, matched=(Matched(FIRST, ("w", "e"), 10, 5, 1), *AUDIT.matched)),
        replace(AUDIT, verified={FIRST: 4}),
    ],
    ids=["not on the target", "not on the source", "another record", "counted and never matched"],
)
def test_an_audit_that_calls_equal_what_is_not_breaks_i9(audit: Audit) -> None:
    assert check_audits([audit], logs=LOGS, ids=IDS).outcome == "violated"


def test_a_record_that_came_over_changed_and_was_called_equal_breaks_i9() -> None:
    first, *rest = LOGS["east"][FIRST]
    changed = {**LOGS, "east": {FIRST: (replace(first, intact=False), *rest)}}
    assert check_audits([AUDIT], logs=changed, ids=IDS).outcome == "violated"


def test_audits_of_topics_that_are_no_more_say_nothing_about_i9() -> None:
    assert check_audits([AUDIT], logs=LOGS, ids={**IDS, "east": {"payments": "newer"}}).outcome == "unknown"
    assert check_audits([], logs=LOGS, ids=IDS).outcome == "unknown"


def test_audits_are_read_as_they_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "west-to-east" / "a"
    (folder / "offset_map").mkdir(parents=True)
    part = {"partition": 0, "coverage": {"verified": 3}}
    (folder / "report.json").write_text(
        json.dumps({"full": True, "topics": [{"topic": "payments", "partitions": [part]}]})
    )
    row = {"source_topic_id": "w", "target_topic_id": "e", "topic": "payments", "partition": 0}
    rows = [
        row | {"source_start": 10, "target_start": 4, "length": 2},
        row | {"source_start": 13, "target_start": 6, "length": 1},
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "offset_map" / "part-0.parquet")
    assert audits_in(tmp_path) == [AUDIT]


def test_what_a_run_cannot_show_is_said_and_neither_good_nor_bad() -> None:
    verdict = check_invariants(healthy(), PERIODS).also(
        [not_judged("I6", "nothing was interrupted"), not_judged("I5", "all came")]
    )
    assert [each.invariant for each in verdict.findings] == ["I1", "I2", "I3", "I5", "I6", "I10"]
    assert verdict.held
    assert not replace(verdict, findings=verdict.findings[3:5]).held
