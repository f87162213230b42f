"""A real process that runs one step, and is stopped by SIGSTOP in the middle of it until a test wakes it.

Run as ``python -m support.frozen_worker HOME FOLDER REQUEST STEP CALL WHEN``. ``CALL`` is where it stops itself, once:
``module:Class.method``. The process says in one line how the step ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from lab.api import Lab
from support.protection import Protection

TESTS = Path(__file__).resolve().parents[1]
_SECONDS = 120.0


class FrozenWorker:
    """A worker that has stopped in a step of a run.

    :param call: ``module:Class.method``, where it stops
    :param when: before or after it
    """

    def __init__(
        self, protection: Protection, request: RunRequest, step: StepName, call: str, *, when: str = "before"
    ) -> None:
        root = protection.lab.home.root
        arguments = (root, protection.folder, json.dumps(asdict(request)), step, call, when)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.frozen_worker", *map(str, arguments)],
            cwd=TESTS, env={"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'include'}", "PATH": ""},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            self._wait_stopped()
        except BaseException:
            self.end()
            raise

    def _wait_stopped(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while True:
            found, status = os.waitpid(self._process.pid, os.WNOHANG | os.WUNTRACED)
            if found and os.WIFSTOPPED(status):
                return
            assert not found, f"it ended before it stopped: {self._process.stdout and self._process.stdout.read()}"
            assert time.monotonic() < deadline, "it never stopped"
            time.sleep(0.05)

    def wake(self) -> str:
        """Let it continue to its end, and return what it says."""
        os.kill(self._process.pid, signal.SIGCONT)
        return self._process.communicate(timeout=_SECONDS)[0].strip()

    def end(self) -> None:
        """Kill it, if it is still there."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate(timeout=_SECONDS)


def _stop_once(call: str, when: str) -> None:
    module, _, path = call.partition(":")
    kind, method = path.split(".")
    at, stopped = getattr(import_module(module), kind), list[bool]()
    real = getattr(at, method)

    def stopping(*arguments: Any, **named: Any) -> Any:
        answer = real(*arguments, **named) if when == "after" else None
        if not stopped:
            stopped.append(True)
            os.kill(os.getpid(), signal.SIGSTOP)
        return answer if when == "after" else real(*arguments, **named)

    setattr(at, method, stopping)


def main(home: str, folder: str, asked: str, step: str, call: str, when: str) -> None:
    """Run the step, and stop once on the way."""
    request = RunRequest(**json.loads(asked))
    protection = Protection(Lab(Path(home)), Path(folder), name=request.protection_group)
    _stop_once(call, when)
    with protection.clients() as clients:
        try:
            record = run_step(StepName(step), request, clients)
        except StepFailed as failure:
            record = failure.record
    print(f"{record.outcome}: {record.detail}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
