from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.audit.gate import GateAnswer, GateVerdict, ask
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
GREEN = AuditResult(
    kind=AuditKind.CHECKSUM,
    group="orders",
    source="east",
    target="west",
    epoch=3,
    verdict=AuditVerdict.GREEN,
    at=NOW - timedelta(minutes=10),
    sentence="1,000 records are equal.",
    report="audits/orders/checksum/x/report.json",
)
RED = replace(GREEN, verdict=AuditVerdict.RED, sentence="2 records are lost.")


def asked(
    root: Path, *, epoch: int = 3, source: str = "east", target: str = "west", unseeded: bool = False
) -> GateVerdict:
    return ask(
        root,
        AuditKind.CHECKSUM,
        group="orders",
        source=source,
        target=target,
        epoch=epoch,
        now=NOW,
        max_age=timedelta(minutes=45),
        unseeded=unseeded,
    )


def file_of(root: Path) -> Path:
    return root / "audits" / "orders" / "checksum" / "east-to-west" / "newest.json"


def test_a_fresh_green_audit_opens_the_gate(tmp_path: Path) -> None:
    ResultStore(tmp_path).write(GREEN)
    found = asked(tmp_path)
    assert (found.answer, found.result) == (GateAnswer.GREEN, GREEN)
    assert found.sentence == "the checksum audit of 2026-03-01 11:50:00 UTC is green: 1,000 records are equal."


@pytest.mark.parametrize(
    ("change", "answer", "said"),
    [
        (
            {"verdict": AuditVerdict.RED, "sentence": "2 are lost."},
            GateAnswer.RED,
            "is red: 2 are lost; fix that, then",
        ),
        (
            {"verdict": AuditVerdict.WARNING, "sentence": "orders.a-0: 3 records are late (and 1 more)."},
            GateAnswer.WARNING,
            "has findings that block no failover: orders.a-0: 3 records are late (and 1 more).",
        ),
        ({"verdict": AuditVerdict.WARNING, "at": NOW - timedelta(minutes=46)}, GateAnswer.TOO_OLD, "is 46 min old"),
        ({"verdict": AuditVerdict.UNKNOWN, "sentence": "No rights."}, GateAnswer.UNKNOWN, "is unknown: No rights."),
        ({"at": NOW - timedelta(minutes=45)}, GateAnswer.GREEN, "is green"),
        (
            {"at": NOW - timedelta(minutes=46)},
            GateAnswer.TOO_OLD,
            "is 46 min old, at most 45 min are allowed: run dr_checksum",
        ),
        ({"at": NOW + timedelta(minutes=2)}, GateAnswer.UNKNOWN, "is 2 min in the future"),
        ({"at": NOW + timedelta(seconds=5)}, GateAnswer.GREEN, "is green"),
        ({"epoch": 2}, GateAnswer.NEVER, "is of epoch 2, this flow began in epoch 3: run dr_checksum_audit again"),
        ({"epoch": 2, "verdict": AuditVerdict.RED}, GateAnswer.NEVER, "is of epoch 2, this flow began in epoch 3"),
        ({"epoch": 4}, GateAnswer.UNKNOWN, "is of epoch 4, this flow began in epoch 3: run dr_checksum_audit again"),
        ({"epoch": None}, GateAnswer.UNKNOWN, "is of an unknown epoch"),
        ({"verdict": AuditVerdict.RED, "at": NOW - timedelta(days=9)}, GateAnswer.RED, "is red"),
    ],
)
def test_only_a_fresh_and_green_audit_is_green(
    tmp_path: Path, change: dict[str, object], answer: GateAnswer, said: str
) -> None:
    ResultStore(tmp_path).write(replace(GREEN, **change))  # type: ignore[arg-type]
    found = asked(tmp_path)
    assert found.answer is answer
    assert said in found.sentence


def test_a_flow_that_was_never_audited_is_not_one_that_is_not_known(tmp_path: Path) -> None:
    ResultStore(tmp_path).write(GREEN)
    found = asked(tmp_path, source="west", target="east")
    assert (found.answer, found.result) == (GateAnswer.NEVER, None)
    assert "no checksum audit of orders west→east has ever ended: run dr_checksum_audit" in found.sentence


def test_audits_of_a_flow_that_was_taken_over_unseeded_count(tmp_path: Path) -> None:
    ResultStore(tmp_path).write(replace(GREEN, epoch=None))
    assert asked(tmp_path, unseeded=True).answer is GateAnswer.GREEN
    ResultStore(tmp_path).write(replace(GREEN, at=NOW))
    assert asked(tmp_path, unseeded=True).answer is GateAnswer.GREEN


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"schema_version": 2}', b"\xff\xfe", b"null"])
def test_a_result_that_is_damaged_is_unknown(tmp_path: Path, content: bytes) -> None:
    ResultStore(tmp_path).write(GREEN)
    file_of(tmp_path).write_bytes(content)
    found = asked(tmp_path)
    assert found.answer is GateAnswer.UNKNOWN
    assert "newest.json is damaged" in found.sentence


def test_a_result_in_the_wrong_folder_is_unknown(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.write(replace(GREEN, source="west", target="east"))
    file_of(tmp_path).parent.mkdir(parents=True)
    file_of(tmp_path).write_bytes((tmp_path / "audits/orders/checksum/west-to-east/newest.json").read_bytes())
    assert asked(tmp_path).answer is GateAnswer.UNKNOWN
    with pytest.raises(ResultUnreadable, match="is about the checksum audit of orders west→east, expected"):
        store.newest(AuditKind.CHECKSUM, group="orders", source="east", target="west")


def test_storage_that_does_not_answer_is_unknown(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)
    assert asked(tmp_path).answer is GateAnswer.UNKNOWN


def test_an_older_audit_that_ends_later_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    assert store.write(RED)
    assert not store.write(replace(GREEN, at=RED.at - timedelta(seconds=1)))
    assert asked(tmp_path).answer is GateAnswer.RED
    assert store.write(replace(GREEN, at=RED.at + timedelta(seconds=1)))
    assert asked(tmp_path).answer is GateAnswer.GREEN
    assert [path.name for path in file_of(tmp_path).parent.iterdir()] == ["newest.json"]


def test_a_damaged_result_is_replaced_by_the_next_audit(tmp_path: Path) -> None:
    ResultStore(tmp_path).write(GREEN)
    file_of(tmp_path).write_bytes(b"{")
    assert ResultStore(tmp_path).write(GREEN)
    assert asked(tmp_path).answer is GateAnswer.GREEN


def test_a_result_carries_a_time_zone() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        replace(GREEN, at=datetime(2026, 3, 1))  # noqa: DTZ001
