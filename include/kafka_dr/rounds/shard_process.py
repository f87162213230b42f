"""The child process of a round: it looks at all groups of one share at once, and sends each result when it knows.

Run by :mod:`kafka_dr.rounds.shard` as ``python -m kafka_dr.rounds.shard_process DESCRIPTOR``. What it has to know,
passwords among it, comes through that socket. It ends at once when its parent has ended.
"""

from __future__ import annotations

import json
import os
import pickle
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePath
from threading import Condition, Lock, Thread
from typing import Any

from kafka_dr.causes import mistake
from kafka_dr.clock import SystemClock
from kafka_dr.connections.port import Connections
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.health.own_speed import OwnSpeed
from kafka_dr.people import Person
from kafka_dr.rounds.forwarded_storage import ForwardedAccess
from kafka_dr.rounds.look import LookTools, ShardRequest, look_named, unknown
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.storage.child_process import receive, send
from kafka_dr.storage.deadline_path import DeadlinePath

#: How many looks begin at the same time. One that waits for a cluster for longer than a moment does not count.
_AT_ONCE, _MOMENT_SECONDS = 8, 1.0
#: Added to the niceness of this process: a failover on the same machine gets three times as much of the processor.
_NICER = 5


class _Parent:
    """The other end: what is sent to it, one message after the other, and the storage that it reaches."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = Lock()
        self.storage = ForwardedAccess(self.send)

    def send(self, head: dict[str, Any], data: bytes = b"") -> None:
        with self._lock:
            send(self._channel, head, data)

    def people(self, names: Sequence[str], roles: Sequence[str]) -> tuple[Person, ...]:
        """Let the parent find people: only it can ask Airflow."""
        head, found = self.storage.ask({"kind": "people", "names": list(names), "roles": list(roles)})
        if "refused" in head:
            raise TryAgain(head["refused"])
        return tuple(Person(*each) for each in json.loads(found))

    def listen(self) -> None:
        """Pass the answers of the storage on; end this process when the parent has ended."""
        with suppress(EOFError, OSError):
            while True:
                self.storage.answered(*receive(self._channel))
        os._exit(1)


class SideBySide:
    """Looks at groups at the same time, each in a thread that can be left alone.

    :param look: looks at one group
    :param say: takes each result, once for each group
    """

    def __init__(self, look: Callable[[str], WatchResult], say: Callable[[WatchResult], None]) -> None:
        self._look, self._say = look, say
        self._changed = Condition()
        self._begun: dict[str, float] = {}

    def run(self, groups: tuple[str, ...], *, group_seconds: float, seconds: float) -> None:
        """Return when each group has a result, or was given up after its time."""
        end = time.monotonic() + seconds
        waiting = list(groups)
        with self._changed:
            while waiting or self._begun:
                now = time.monotonic()
                self._give_up(now, group_seconds=group_seconds, end=end)
                if now >= end:
                    break
                while waiting and sum(now - begun < _MOMENT_SECONDS for begun in self._begun.values()) < _AT_ONCE:
                    self._begin(waiting.pop(0))
                self._changed.wait(0.05)
        for group in waiting:
            self._say(unknown(group, f"nobody looked at it: the {duration(seconds)} of this round were over before"))

    def _begin(self, group: str) -> None:
        self._begun[group] = time.monotonic()
        Thread(target=self._one, args=(group,), name=f"look: {group}", daemon=True).start()

    def _give_up(self, now: float, *, group_seconds: float, end: float) -> None:
        for group, begun in list(self._begun.items()):
            if now >= end or now - begun >= group_seconds:
                del self._begun[group]
                self._say(
                    unknown(group, f"the look did not end within {duration(now - begun)}; the next one begins again")
                )

    def _one(self, group: str) -> None:
        try:
            found = self._look(group)
        except KafkaDrError as error:
            found = unknown(group, str(error))
        except Exception as error:  # noqa: BLE001 - an error in the look at one group is no error of the others
            traceback.print_exc()
            found = unknown(group, mistake(error))
        with self._changed:
            if self._begun.pop(group, None) is not None:
                self._say(found)
            self._changed.notify_all()


def _clients(request: ShardRequest, parent: _Parent) -> Clients:
    clients = Clients(
        request.topology,
        connections=Connections.stored(request.access.get),
        evidence_root=DeadlinePath(PurePath(request.evidence_root), parent.storage),
        clock=SystemClock(),
        people_of=parent.people if request.finds_people else None,
    )
    clients.share_reads()
    return clients


def _say(parent: _Parent) -> Callable[[WatchResult], None]:
    def say(found: WatchResult) -> None:
        fields = {"group": found.group, "outcome": found.outcome, "sentences": found.sentences, "facts": found.facts}
        parent.send({"kind": "result"}, json.dumps(fields, default=str).encode())

    return say


def main(descriptor: int) -> None:
    """Do what the parent asks, and end without waiting for questions that nobody answers."""
    channel = socket.socket(fileno=descriptor)
    _, written = receive(channel)
    request: ShardRequest = pickle.loads(written)  # noqa: S301 - the parent wrote it
    parent = _Parent(channel)
    Thread(target=parent.listen, name="parent", daemon=True).start()
    look = look_named(request.look)
    with OwnSpeed() as speed:
        tools = LookTools(_clients(request, parent), request.run, request.settings, speed, request.group_seconds)
        SideBySide(lambda group: look(group, tools), _say(parent)).run(
            request.groups, group_seconds=request.group_seconds, seconds=request.seconds
        )
    parent.send({"kind": "done"})
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    os.umask(0o077)
    os.nice(_NICER)
    main(int(sys.argv[1]))
