"""What the applications' logs are taken to say, and what they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.invariants.app_logs import read_app_logs
from lab.invariants.model import Partition, RecordId

Line = dict[str, Any]
START: Line = {"event": "start", "role": "producer", "cluster": "east", "topic": "orders.payments"}


def said(folder: Path, **logs: list[Line]) -> Path:
    for name, lines in logs.items():
        text = "".join(json.dumps({"at": 1.0} | line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def payment(sequence: int) -> RecordId:
    return RecordId("payments", sequence)


def test_an_acknowledgement_is_a_write_on_the_cluster_of_the_incarnation(tmp_path: Path) -> None:
    west = START | {"cluster": "west"}
    lines = [
        START,
        {"event": "sent", "sequences": [0]},
        {"event": "acknowledged", "records": [[0, 3, 17, 5.5]]},
        west,
        {"event": "sent", "sequences": [1]},
        {"event": "acknowledged", "records": [[1, 3, 18, 6.5]]},
    ]
    writes = read_app_logs(said(tmp_path, payments=lines)).writes
    assert [(each.record, each.cluster, each.offset, each.at) for each in writes] == [
        (payment(0), "east", 17, 5.5),
        (payment(1), "west", 18, 6.5),
    ]
    assert writes[0].partition == Partition("orders.payments", 3)


def test_a_record_that_was_sent_and_never_spoken_of_again_may_or_may_not_be_there(tmp_path: Path) -> None:
    testimony = read_app_logs(said(tmp_path, payments=[START, {"event": "sent", "sequences": [0, 1]}]))
    assert testimony.attempts == {payment(0): 1, payment(1): 1}
    assert testimony.writes == []


def test_each_incarnation_that_does_not_learn_the_outcome_counts_once(tmp_path: Path) -> None:
    lines = [START, {"event": "sent", "sequences": [0]}] * 2
    lines += [START, {"event": "sent", "sequences": [0]}, {"event": "acknowledged", "records": [[0, 0, 2, 9.0]]}]
    testimony = read_app_logs(said(tmp_path, payments=lines))
    assert testimony.attempts == {payment(0): 2}
    assert len(testimony.writes) == 1


def test_a_refused_record_must_not_be_visible_until_it_is_acknowledged_after_all(tmp_path: Path) -> None:
    lines = [START, {"event": "sent", "sequences": [0, 1]}, {"event": "refused", "sequences": [0, 1]}]
    lines += [START, {"event": "sent", "sequences": [0]}, {"event": "acknowledged", "records": [[0, 0, 2, 9.0]]}]
    testimony = read_app_logs(said(tmp_path, payments=lines))
    assert testimony.void == {payment(1)}
    assert testimony.attempts == {}


SETTLER: Line = {
    "event": "start",
    "role": "settler",
    "cluster": "east",
    "topic": "orders.invoices",
    "input": "orders.payments",
    "group": "billing-settlement",
}


def transaction(number: int, first: int, last: int) -> Line:
    inputs = [[0, 10 * number + each, "payments", 10 * number + each] for each in range(last - first + 1)]
    return {"event": "sent", "at": float(number), "transaction": number, "sequences": [first, last], "inputs": inputs}


def invoice(sequence: int) -> RecordId:
    return RecordId("billing", sequence)


def test_a_committed_transaction_wrote_its_records_and_processed_its_inputs(tmp_path: Path) -> None:
    committed = {"event": "committed", "at": 1.5, "transaction": 1, "records": [[0, 2, 7], [1, 2, 8]]}
    testimony = read_app_logs(said(tmp_path, billing=[SETTLER, transaction(1, 0, 1), committed]))
    assert [(each.record, each.at) for each in testimony.writes] == [(invoice(0), 1.5), (invoice(1), 1.5)]
    deliveries = [(each.group, each.record, each.at) for each in testimony.deliveries]
    assert deliveries == [("billing-settlement", payment(10), 1.0), ("billing-settlement", payment(11), 1.0)]
    assert testimony.undecided == []


def test_an_aborted_transaction_wrote_and_processed_nothing(tmp_path: Path) -> None:
    lines = [SETTLER, transaction(1, 0, 1), {"event": "aborted", "transaction": 1}]
    testimony = read_app_logs(said(tmp_path, billing=lines))
    assert testimony.void == {invoice(0), invoice(1)}
    assert testimony.writes == []
    assert testimony.deliveries == []


@pytest.mark.parametrize(("visible", "processed"), [({invoice(0), invoice(1)}, 2), (set[RecordId](), 0)])
def test_a_transaction_of_unknown_outcome_is_decided_by_the_cluster(
    tmp_path: Path, visible: set[RecordId], processed: int
) -> None:
    testimony = read_app_logs(said(tmp_path, billing=[SETTLER, transaction(1, 0, 1)]))
    testimony.resolve(visible)
    assert len(testimony.deliveries) == processed
    assert testimony.attempts == {invoice(0): 1, invoice(1): 1}
    assert testimony.void == set()


def test_a_reader_processed_what_it_wrote_into_its_log(tmp_path: Path) -> None:
    start = {"event": "start", "role": "reader", "cluster": "west", "group": "orders-head"}
    lines: list[Line] = [start, {"event": "processed", "topic": "t", "partition": 1, "records": [[4, "payments", 9]]}]
    (delivery,) = read_app_logs(said(tmp_path, **{"orders-head": lines})).deliveries
    assert (delivery.group, delivery.record, delivery.cluster, delivery.offset) == (
        "orders-head",
        payment(9),
        "west",
        4,
    )


def test_a_line_that_a_kill_cut_off_says_nothing(tmp_path: Path) -> None:
    said(tmp_path, payments=[START, {"event": "sent", "sequences": [0]}])
    with (tmp_path / "payments.jsonl").open("a") as log:
        log.write('{"event":"acknowledged","records":[[0,0,')
    assert read_app_logs(tmp_path).attempts == {payment(0): 1}
