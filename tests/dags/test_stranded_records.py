"""The task that lists stranded records: records are no reason to be red, a list that could not be made is."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.models.connection import Connection

from kafka_dr.audit.stranded import StrandedList, StrandedPartition, StrandedStore
from kafka_dr.register.abandonment import Abandonment
from kafka_dr_airflow.operators import failback
from kafka_dr_airflow.operators.failback import StrandedRecordsOperator
from support.spark_stand_in import PASSWORD, stand_in

CONTENT_KEY = base64.b64encode(b"k" * 32).decode("ascii")


@pytest.fixture
def root(tmp_path: Path, lab_environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evidence root of a machine with connections and a spark-submit that only says what it was given."""
    sides = ("connect_east", "connect_west")
    connect = [Connection(conn_id=each, conn_type="http", host="127.0.0.1", port=8083) for each in sides]
    key = Connection(conn_id="kafka_dr_encryption", conn_type="generic", login="lab-1", password=CONTENT_KEY)
    stand_in(tmp_path, lab_environ, monkeypatch, connect=[*connect, key])
    # The registers are asked on brokers, in the tests of the failback itself.
    left = Abandonment("disaster", 1000, "east", "west", {})
    monkeypatch.setattr(failback, "old_cluster", lambda _group, _chosen: left)
    return tmp_path / "lab" / "evidence"


def kept(root: Path, records: int) -> None:
    partition = StrandedPartition("orders.payments", 0, 0, 5, 9, 5, records, ((5, 9),) if records else ())
    at = datetime(2026, 1, 1, tzinfo=UTC)
    found = StrandedList("orders", "disaster", "east", "west", at, {}, {}, (partition,))
    StrandedStore(root, "orders", "disaster").write(found)


def run(monkeypatch: pytest.MonkeyPatch, code: int, says: str) -> dict[str, Any]:
    monkeypatch.setenv("ENDS", str(code))
    monkeypatch.setenv("SAYS", says)
    operator = StrandedRecordsOperator()
    names = {"dag_id": "dr_failback", "run_id": "r1", "task_id": "stranded_records"}
    return operator.execute(
        {
            "params": {"protection_group": "orders"},
            "ti": SimpleNamespace(**names, try_number=1, max_tries=0),
            "dag_run": SimpleNamespace(run_type="manual"),
        }
    )


def test_stranded_records_are_kept_and_the_task_is_green(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(root, 4)
    found = run(monkeypatch, 1, "stranded: 4 records of east never copied to west")
    assert found == {"verdict": "stranded", "records": 4, "list": "stranded/orders/disaster"}
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["argv"][-4:] == ["--group", "orders", "--cluster", "east"]
    assert PASSWORD not in " ".join(seen["argv"])
    assert CONTENT_KEY not in " ".join(seen["argv"])
    secrets = json.loads(seen["content"])
    assert set(secrets) == {"kafka_east_audit", "kafka_west_audit", "kafka_dr_encryption"}, "no login of Connect"
    assert secrets["kafka_dr_encryption"]["key_id"] == "lab-1"
    assert seen["mode"] == 0o600
    assert not Path(seen["secrets"]).exists()
    assert "KAFKA_DR_SECRETS_FILE" not in os.environ


def test_nothing_stranded_is_green_as_well(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(root, 0)
    assert run(monkeypatch, 0, "nothing: all it holds is on west")["verdict"] == "nothing"


@pytest.mark.parametrize(
    ("code", "says", "reason"),
    [
        (2, "unknown: an open transaction hides the end of orders.payments-0", "an open transaction hides the end"),
        (1, "Exception in thread main", "exit code 1"),
        (0, "nothing: all it holds is on west", "ended without a list"),
    ],
)
def test_a_list_that_was_not_made_is_red_even_if_there_is_an_older_one(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: int, says: str, reason: str
) -> None:
    if code:
        kept(root, 4)
    with pytest.raises(SystemExit, match=reason):
        run(monkeypatch, code, says)
