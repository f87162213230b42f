"""A process that dies after each change it makes, once, and is started again each time until it is done.

After one change is before the next, so that no point between two changes is left out. What such a process had under
way in other threads dies with it: nothing of it changes anything later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from unittest import mock

from kafka_dr.clusters.acls import Acls
from kafka_dr.clusters.configs import Configs
from kafka_dr.clusters.groups import Groups
from kafka_dr.clusters.topics import Topics
from kafka_dr.clusters.transactions import Transactions
from kafka_dr.clusters.writing import TransactionalWriter, Writing
from kafka_dr.errors import TryAgain
from kafka_dr.register import KafkaRegister
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.existing.mirrormaker_connect import MirrorMakerOnConnect
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.routing import FileRouter
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.record import StepFailed
from support.switched_group import Killed

T = TypeVar("T")
#: Says what is changed by a call, given its arguments; ``None`` where the call is a part of a change of the register.
Told = Callable[..., str | None]

_MOST_DEATHS = 60


def _cluster(of: Any) -> str:
    return str(of._session.label)


def _written(writer: Any, _: object) -> str | None:
    return None if writer._id.startswith("kafka-dr-register") else f"as {writer._id} on {_cluster(writer)}"


def _recorded(of: Any, group: str, name: str, change: Any) -> str:
    return f"{len(change(of.added_acls(group, name)).current)} on {of._cluster.name}"


def _acls(of: Any, acls: Any, **_: object) -> str:
    return f"{len(set(acls))} with {hash(frozenset(acls)):x} on {_cluster(of)}"


def _once(of: Any, *_: object, **__: object) -> str:
    return f"on {_cluster(of)}"


def _of_flow(of: Any, *_: object, **__: object) -> str:
    return str(of.flow)


def _once_existing(of: Any, *_: object) -> str:
    return str(of.described)


_CHANGES: tuple[tuple[type, str, Told], ...] = (
    (KafkaRegister, "write_fact", lambda of, _group, _run, fact, _payload, **_: f"{fact} on {of._cluster.name}"),
    (KafkaRegister, "compare_and_set", lambda of, _expected, new: f"{new.phase} on {of._cluster.name}"),
    (KafkaRegister, "change_added_acls", _recorded),
    (KafkaRegister, "change_fact", lambda of, _group, _run, fact, _change: f"{fact} on {of._cluster.name}"),
    (Acls, "add", _acls),
    (Acls, "remove", _acls),
    (Transactions, "take_over", _once),
    (Groups, "set_offsets", _once),
    (Topics, "create", lambda of, name, **_: f"{name} on {_cluster(of)}"),
    (Topics, "add_partitions", _once),
    (Topics, "delete", _once),
    (Configs, "create", _once),
    (Configs, "set", _once),
    (Writing, "append", lambda of, *_, idempotent=True: f"on {_cluster(of)}" if idempotent else None),
    (TransactionalWriter, "write", _written),
    (FileRouter, "switch", lambda *_, **__: ""),
    (Mm2Replicator, "ensure", _of_flow),
    (Mm2Replicator, "stop", _of_flow),
    (Mm2Replicator, "seed", _of_flow),
    (Mm2Replicator, "resume", _of_flow),
    (MirrorMakerOnConnect, "stop", _once_existing),
    (MirrorMakerOnConnect, "seed", _once_existing),
    (MirrorMakerOnConnect, "resume", _once_existing),
    (ConnectClient, "delete", lambda _, name: name),
)


@dataclass(slots=True)
class _Life:
    """One start of the process."""

    dead: bool = False


@dataclass(slots=True)
class DyingProcess:
    """A process and its deaths.

    :param died: after which changes, in order; after none of them twice
    """

    died: list[str] = field(default_factory=list)
    _here: threading.local = field(default_factory=threading.local)

    def until_through(self, work: Callable[[], T]) -> T:
        """Do the work, as often as its process dies over it, and return what it said when it came through."""
        for _ in range(_MOST_DEATHS):
            with self._life() as life:
                try:
                    answer = work()
                except Killed:
                    continue
                except StepFailed:
                    if life.dead:
                        continue
                    raise
            if not life.dead:
                return answer
        raise AssertionError(f"it never came through: {self.died}")

    @contextmanager
    def _life(self) -> Iterator[_Life]:
        life = _Life()
        with ExitStack() as stack:
            for at, method, told in _CHANGES:
                stack.enter_context(mock.patch.object(at, method, self._deadly(life, at, method, told)))
            stack.enter_context(mock.patch.object(BackgroundCall, "__init__", self._beside(life)))
            yield life

    def _deadly(self, life: _Life, at: type, method: str, told: Told) -> Callable[..., object]:
        real = getattr(at, method)

        def deadly(*arguments: object, **named: object) -> object:
            mine: _Life = getattr(self._here, "life", life)
            if mine.dead:
                raise Killed(method)
            answer = real(*arguments, **named)
            what = told(*arguments, **named)
            place = f"{at.__name__}.{method} {what}".rstrip()
            if what is not None and place not in self.died and mine is life:
                self.died.append(place)
                life.dead = True
                raise Killed(place)
            return answer

        return deadly

    def _beside(self, life: _Life) -> Callable[..., None]:
        """A thread that waits for what died ends at once: it can change nothing any more either."""
        real = BackgroundCall.__init__

        def marked(of: Any, name: str, question: Callable[[], object]) -> None:
            def asked() -> object:
                self._here.life = life
                try:
                    return question()
                except Killed as killed:
                    raise TryAgain(f"the process is dead: {killed}") from killed

            real(of, name, asked)

        return marked
