"""One child process of a round, as its parent sees it: started, listened to, and ended."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import kafka_dr
from kafka_dr.causes import cause
from kafka_dr.people import Person
from kafka_dr.rounds import forwarded_storage
from kafka_dr.rounds.look import ShardRequest
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.storage.child_process import receive, send
from kafka_dr.storage.deadline_path import DeadlinePath

#: How long a killed process may take to end, in seconds; one that waits for a disk is left alone.
_KILLED_SECONDS = 5.0
PeopleOf = Callable[[Sequence[str], Sequence[str]], tuple[Person, ...]]


class Shard:
    """A child process that looks at some groups.

    :param request: what it has to do
    :param root: the evidence root, which it reaches through this process
    :param heard: called with each result, in a thread
    :param people_of: finds people by names and by roles
    :param ended: called once when nothing more will be heard, in a thread
    """

    def __init__(
        self,
        request: ShardRequest,
        root: DeadlinePath,
        *,
        heard: Callable[[WatchResult], None],
        ended: Callable[[Shard], None],
        people_of: PeopleOf | None = None,
    ) -> None:
        self.groups = request.groups
        #: Whether the child said that it has done everything.
        self.done = False
        self._root, self._heard, self._ended, self._people_of = root, heard, ended, people_of
        self._lock = Lock()
        own, childs = socket.socketpair()
        self._channel = own
        # Not a fork: this process has threads, and in Airflow a channel to its supervisor that nobody else may use.
        with childs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kafka_dr.rounds.shard_process", str(childs.fileno())],
                pass_fds=(childs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": _path()},
            )
        Thread(target=self._listen, args=(request,), name="shard", daemon=True).start()

    @property
    def process_id(self) -> int:
        """The id of the child process."""
        return self._process.pid

    def end(self) -> None:
        """End the child, also one that hangs."""
        with suppress(OSError):
            self._process.kill()

    @property
    def how_it_ended(self) -> str:
        """Say how the process ended, as it continues "the process that looked at it …"."""
        code = self._process.returncode
        if code is None:
            return "does not answer"
        return f"was ended by signal {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def _listen(self, request: ShardRequest) -> None:
        with suppress(EOFError, OSError):
            self._send({}, pickle.dumps(request))
            while not self.done:
                head, data = receive(self._channel)
                if head["kind"] == "storage":
                    Thread(target=self._answer, args=(head, data), daemon=True).start()
                elif head["kind"] == "people":
                    Thread(target=self._find_people, args=(head,), daemon=True).start()
                elif head["kind"] == "result":
                    self._heard(_result(data))
                else:
                    self.done = True
        self._channel.close()
        self.end()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_KILLED_SECONDS)
        self._ended(self)

    def _answer(self, head: dict[str, Any], data: bytes) -> None:
        answer = forwarded_storage.answer(self._root, head, data)
        with suppress(OSError):
            self._send(*answer)

    def _find_people(self, head: dict[str, Any]) -> None:
        answer = {"kind": "people", "number": head["number"]}
        found: tuple[Person, ...] = ()
        try:
            if self._people_of is not None:
                found = self._people_of(head["names"], head["roles"])
        except Exception as error:  # noqa: BLE001 - raised in the child, for the group that asked
            answer["refused"] = f"who may approve is not known: {cause(error)}"
        with suppress(OSError):
            self._send(answer, json.dumps([[each.name, each.id] for each in found]).encode())

    def _send(self, head: dict[str, Any], data: bytes) -> None:
        with self._lock:
            send(self._channel, head, data)


def _result(data: bytes) -> WatchResult:
    found = json.loads(data)
    return WatchResult(found["group"], found["outcome"], tuple(found["sentences"]), found["facts"])


def _path() -> str:
    """Return where the child finds this program."""
    here = str(Path(kafka_dr.__file__).parents[1])
    # It finds installed packages by itself: here they would come before Python's own modules.
    own = "" if here == sysconfig.get_path("purelib") else here
    return os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH", ""))))
