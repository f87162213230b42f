"""A task process whose supervisor is gone says in the register that it has ended, and ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Event
from typing import Any

import pytest

from kafka_dr.errors import Refused, TryAgain
from kafka_dr.register import Phase
from kafka_dr.runs import signs_of_life
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.runs.signs_of_life import ALIVE
from kafka_dr.verbs import runner, switch
from kafka_dr_airflow.operators import receipt
from kafka_dr_airflow.operators import switch as switch_task
from kafka_dr_airflow.operators.failover_step import FailoverStepOperator
from kafka_dr_airflow.operators.supervised import ends_with_supervisor
from support.fake_registers import FakeRegisters
from support.manual_clock import ManualClock
from support.register_states import a_state

CLAIMED = a_state(epoch=2, phase=Phase.SWITCHING, verb="planned_failover", run="run-1")
_LOOK_SECONDS = 0.001


def test_it_says_so_and_ends_while_its_task_waits_and_changes_nothing_more() -> None:
    clock, registers = ManualClock(), FakeRegisters(east=CLAIMED, west=CLAIMED)
    clients = registers.clients(executor=Executor.here(), clock=clock)
    run = Run(RunRequest("orders", "run-1"), clients)
    run.take()
    guard = run.guard(Phase.SWITCHING)
    guard.require()
    parents, ended, at_end = [42], Event(), list[Any]()

    def end(code: int) -> None:
        at_end.append((code, registers.by_cluster["east"].facts("orders", "run-1")[ALIVE]["ended"]))
        ended.set()

    began = clock.monotonic()
    with ends_with_supervisor(clients, parent=lambda: parents[-1], end=end, look_seconds=_LOOK_SECONDS):
        assert not ended.wait(20 * _LOOK_SECONDS)
        parents.append(1)
        assert ended.wait(30)
        assert at_end == [(1, True)]
        assert clock.monotonic() - began >= 1, "what was permitted may still be sent"
        with pytest.raises(TryAgain, match="is about to end, so it changes nothing more"):
            guard.require()


@pytest.mark.parametrize("error", [TryAgain("no answer"), AttributeError("a mistake of ours")])
def test_it_ends_also_if_it_cannot_say_so_and_its_log_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def refuse(_: object) -> None:
        raise error

    unseen = list[Any]()
    monkeypatch.setattr(threading, "excepthook", unseen.append)
    monkeypatch.setattr(signs_of_life, "leave", refuse)
    ended, parents, clients = Event(), iter([42]), FakeRegisters().clients()
    threads = set(threading.enumerate())
    with ends_with_supervisor(
        clients, parent=lambda: next(parents, 1), end=lambda _: ended.set(), look_seconds=_LOOK_SECONDS
    ):
        assert ended.wait(30)
        for thread in set(threading.enumerate()) - threads:
            thread.join(30)
    assert unseen == []
    assert str(error) in caplog.text


def test_a_task_that_is_over_no_longer_looks() -> None:
    ended = Event()
    parents = [42]
    clients: Any = None
    with ends_with_supervisor(clients, parent=lambda: parents[-1], end=lambda _: ended.set(), look_seconds=0.05):
        pass
    parents.append(1)
    assert not ended.wait(0.2)


@pytest.mark.parametrize("operator", ["switch", "verify"])
def test_every_task_that_may_hold_a_run_looks_after_its_supervisor_as_long_as_it_works(
    monkeypatch: pytest.MonkeyPatch, operator: str
) -> None:
    seen: list[str] = []

    @contextmanager
    def looking(_: object) -> Iterator[None]:
        seen.append("begins")
        try:
            yield
        finally:
            seen.append("ends")

    def work(*_: object) -> None:
        seen.append("works")
        raise Refused("the sentence")

    monkeypatch.setattr("kafka_dr_airflow.task_clients.open_clients", nullcontext)
    for module, name, put in (
        (switch_task, "ends_with_supervisor", looking),
        (receipt, "ends_with_supervisor", looking),
        (switch, "switch", work),
        (runner, "run_step", work),
    ):
        monkeypatch.setattr(module, name, put)
    made: Any = (
        switch_task.SwitchOperator(numbers=(3, 9))
        if operator == "switch"
        else FailoverStepOperator(step="verify", number=10)
    )
    with pytest.raises(SystemExit, match=r"^the sentence$"):
        made.execute({"params": {"protection_group": "orders"}, "run_id": "r1"})
    assert seen == ["begins", "works", "ends"]
