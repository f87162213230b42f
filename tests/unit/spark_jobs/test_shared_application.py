from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

from jobs.session import Sessions
from jobs.shared.application import SharedApplication
from jobs.shared.audit_process import RunJob
from jobs.shared.requests import AuditEnded, AuditRequest, SharedRequests
from jobs.shared.spark_holder import STARTED, Hold
from kafka_dr.clock import SystemClock
from kafka_dr.errors import Refused

#: Longer than any of these tests.
FOREVER = 600.0


def starts_at_once(orders: Connection, _count: int) -> None:
    """Hold nothing: these tests are about processes, not about Spark."""
    orders.send(STARTED)
    with suppress(EOFError):
        while orders.recv():
            pass


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def audit(command: Sequence[str], _sessions: Sessions) -> int:
    """Do what the name of the flow says."""
    flow = command[command.index("--flow") + 1]
    say(f"{flow} begins")
    match flow.partition(".")[0]:
        case "hangs":
            time.sleep(FOREVER)
        case "aborts":
            faulthandler.disable()
            os.abort()
        case "exits":
            os._exit(77)
        case "breaks":
            raise ValueError("a mistake of ours")
        case "unknown":
            say("unknown: west does not answer")
            say("something else")
            return 2
        case "lost":
            say("findings: 2 records are lost")
            return 1
    say("equal: all of it")
    return 0


def run(
    folder: Path, *flows: str, side_by_side: int = 2, seconds: float = FOREVER, holder: Hold = starts_at_once
) -> dict[str, AuditEnded]:
    requests = tuple(AuditRequest("checksum", f, seconds, folder / f"{f}.json") for f in flows)
    jobs: dict[str, RunJob] = {"checksum": audit}
    application = SharedApplication(jobs, folder / "topology.yaml", SystemClock(), 20.0, holder)  # type: ignore[arg-type]
    application.run(SharedRequests(side_by_side, requests))
    return {each.flow: found for each in requests if (found := AuditEnded.read(each.ended)) is not None}


def test_each_audit_has_its_own_result(tmp_path: Path) -> None:
    ended = run(tmp_path, "good.a", "lost.b", "unknown.c")
    assert {flow: (each.code, each.said) for flow, each in ended.items()} == {
        "good.a": (0, "equal: all of it"),
        "lost.b": (1, "findings: 2 records are lost"),
        "unknown.c": (2, "west does not answer"),
    }
    assert all(each.peak_memory_mb > 0 for each in ended.values())


def test_an_audit_that_aborts_or_breaks_is_unknown_and_harms_no_other(tmp_path: Path) -> None:
    ended = run(tmp_path, "aborts.a", "good.b", "exits.c", "breaks.d", "good.e", side_by_side=1)
    assert {flow: each.code for flow, each in ended.items()} == {
        "aborts.a": 2,
        "good.b": 0,
        "exits.c": 2,
        # Python's own exit code would say that something was found.
        "breaks.d": 2,
        "good.e": 0,
    }
    assert "SIGABRT; the last that it said: aborts.a begins" in ended["aborts.a"].said
    assert "77" in ended["exits.c"].said


def test_an_audit_that_hangs_ends_at_its_deadline_and_the_others_are_not_held_up(tmp_path: Path) -> None:
    ended = run(tmp_path, "hangs.a", "hangs.b", "good.c", seconds=1.0)
    assert {flow: each.code for flow, each in ended.items()} == {"hangs.a": 2, "hangs.b": 2, "good.c": 0}
    assert "no result within 1 s" in ended["hangs.a"].said


def test_what_an_audit_prints_is_shown_with_its_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, "good.a")
    assert "[good.a checksum] equal: all of it\n" in capfd.readouterr().out


def refuses(orders: Connection, _count: int) -> None:
    orders.send("Spark did not start: no such master")
    os._exit(1)


def dies(_orders: Connection, _count: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def waits(orders: Connection, _count: int) -> None:
    time.sleep(FOREVER)


@pytest.mark.parametrize(("holder", "said"), [(refuses, "no such master"), (dies, "ended: look at the log")])
def test_without_spark_every_audit_is_unknown_and_says_why(tmp_path: Path, holder: Hold, said: str) -> None:
    ended = run(tmp_path, "hangs.a", "hangs.b", "good.c", side_by_side=1, holder=holder)
    assert [each.code for each in ended.values()] == [2, 2, 2]
    assert all(said in each.said for each in ended.values())


def test_a_spark_that_never_starts_is_given_up(tmp_path: Path) -> None:
    request = AuditRequest("checksum", "hangs.a", FOREVER, tmp_path / "a.json")
    application = SharedApplication({"checksum": audit}, tmp_path, SystemClock(), 0.5, waits)
    application.run(SharedRequests(1, (request, replace(request, ended=tmp_path / "b.json"))))
    for name in ("a.json", "b.json"):
        ended = AuditEnded.read(tmp_path / name)
        assert ended is not None
        assert (ended.code, ended.said.partition(":")[0]) == (2, "Spark did not start within 0.5 s")


GOOD = '{"audit": "lag", "flow": "a.b-to-c", "deadline_seconds": 5, "ended": "/x"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not a list of audits"),
        ('{"requests": []}', "side_by_side"),
        ('{"side_by_side": 0, "requests": []}', "choose 1 to 64"),
        ('{"side_by_side": 1, "requests": [{"audit": "sum"}]}', "flow"),
        (f'{{"side_by_side": 1, "requests": [{GOOD.replace("lag", "sum")}]}}', "'sum', not one of checksum, lag"),
        (f'{{"side_by_side": 1, "requests": [{GOOD.replace("5", "0")}]}}', "not positive"),
        (f'{{"side_by_side": 1, "requests": [{GOOD}, {GOOD}]}}', "the same file"),
    ],
)
def test_a_list_of_audits_of_another_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "requests.json"
    file.write_text(text)
    with pytest.raises(Refused, match=said):
        SharedRequests.read(file)


def test_a_list_that_is_written_is_read_again(tmp_path: Path) -> None:
    asked = SharedRequests(3, (AuditRequest("lag", "a.b-to-c", 5.0, tmp_path / "ended.json", ("--out", "x")),))
    asked.write(tmp_path / "requests.json")
    assert SharedRequests.read(tmp_path / "requests.json") == asked


def test_audits_end_when_what_submitted_them_is_killed(tmp_path: Path) -> None:
    """Nobody would journal what they file, and a result that is not journaled is not believed."""
    fork = multiprocessing.get_context("fork")

    def submit() -> None:
        fork.Process(target=run, args=(tmp_path, "hangs.a", "hangs.b")).start()
        time.sleep(FOREVER)

    submitted = fork.Process(target=submit)
    submitted.start()
    try:
        deadline = time.monotonic() + 60
        # The application, the process that holds Spark, and two audits.
        while len(family := psutil.Process(submitted.pid).children(recursive=True)) < 4:
            assert time.monotonic() < deadline, family
            time.sleep(0.05)
    finally:
        submitted.kill()
        submitted.join()
    left = psutil.wait_procs(family, timeout=60)[1]
    for each in left:
        each.kill()
    assert left == []
    assert not list(tmp_path.glob("*.json"))
