"""The parent of a round: it divides the groups, starts the processes, and has a result for every group at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

from kafka_dr.clock import Clock
from kafka_dr.durations import duration
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.rounds.look import ShardRequest, unknown
from kafka_dr.rounds.shard import PeopleOf, Shard
from kafka_dr.rounds.shares import GROUPS_OF_A_PROCESS, divided, shares
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.storage.deadline_path import DeadlinePath
from kafka_dr.topology.audited import clusters_of
from kafka_dr.topology.model import Topology

#: With less time than this, groups whose process ended are not looked at again.
_LEAST_SECONDS = 5.0
#: What the children may take less than all, so that their last words are heard.
_MARGIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RoundLimits:
    """How long a round may take, in seconds.

    :param group_seconds: the look at one group
    :param seconds: all of it; what has no result by then is unknown
    :param groups_of_a_process: how many groups one process looks at
    """

    group_seconds: float
    seconds: float
    groups_of_a_process: int = GROUPS_OF_A_PROCESS


@dataclass(frozen=True, slots=True)
class Round:
    """What has to be looked at, and what is needed for it.

    :param look: where the look is, as ``module:function``; :mod:`kafka_dr.rounds.looks` has those of the watches
    :param run: the run of the watch's DAG
    :param root: the evidence root
    :param settings: what a look needs to know of its run, as plain values
    :param people_of: finds people by names and by roles; without it a name is also the id, and nobody has a role
    """

    look: str
    topology: Topology
    access: AccessData
    root: DeadlinePath
    run: str
    limits: RoundLimits
    settings: dict[str, Any] = field(default_factory=dict)
    people_of: PeopleOf | None = None


def look_at_groups(
    wanted: Round,
    groups: Collection[str],
    *,
    clock: Clock,
    heard: Callable[[WatchResult], None] = lambda _: None,
    started: Callable[[Shard], None] = lambda _: None,
) -> dict[str, WatchResult]:
    """Look at groups, and return a result for each of them, within the time of the round.

    :param heard: called with each result as soon as it is known
    :param started: called with each process
    """
    return _RunningRound(wanted, clock, heard, started).run(groups)


class _RunningRound:
    def __init__(
        self, wanted: Round, clock: Clock, heard: Callable[[WatchResult], None], started: Callable[[Shard], None]
    ) -> None:
        self._wanted, self._clock = wanted, clock
        self._heard, self._started = heard, started
        self._changed = Condition()
        self._found: dict[str, WatchResult] = {}
        self._running: list[Shard] = []
        self._tried_again: set[str] = set()
        self._end = clock.monotonic() + wanted.limits.seconds

    def run(self, groups: Collection[str]) -> dict[str, WatchResult]:
        clusters = {name: clusters_of(self._wanted.topology, name) for name in groups}
        with self._changed:
            try:
                for share in shares(clusters, at_most=self._wanted.limits.groups_of_a_process):
                    self._start(share)
                while self._running and self._left() > 0:
                    self._changed.wait(self._left())
            finally:
                for shard in self._running:
                    shard.end()
            for name in groups:
                if name not in self._found:
                    self._keep(unknown(name, f"no result within {duration(self._wanted.limits.seconds)}"))
            return dict(self._found)

    def _left(self) -> float:
        return self._end - self._clock.monotonic()

    def _start(self, groups: tuple[str, ...]) -> None:
        wanted = self._wanted
        request = ShardRequest(
            look=wanted.look,
            groups=groups,
            run=wanted.run,
            settings=wanted.settings,
            topology=wanted.topology,
            access=wanted.access,
            evidence_root=str(wanted.root),
            group_seconds=wanted.limits.group_seconds,
            seconds=max(0.0, self._left() - _MARGIN_SECONDS),
            finds_people=wanted.people_of is not None,
        )
        shard = Shard(request, wanted.root, heard=self._hear, ended=self._shard_ended, people_of=wanted.people_of)
        self._running.append(shard)
        self._started(shard)

    def _hear(self, found: WatchResult) -> None:
        with self._changed:
            self._keep(found)

    def _keep(self, found: WatchResult) -> None:
        if found.group not in self._found:
            self._found[found.group] = found
            self._heard(found)

    def _shard_ended(self, shard: Shard) -> None:
        with self._changed:
            if shard not in self._running:
                return
            self._running.remove(shard)
            left = tuple(name for name in shard.groups if name not in self._found)
            again = left if self._left() >= _LEAST_SECONDS and not self._tried_again.intersection(left) else ()
            self._tried_again.update(again)
            # Smaller processes: if one group makes its client abort, fewer others are with it the second time.
            for share in divided(again, at_most=-(-len(again) // 4)):
                self._start(share)
            for name in left if not again else ():
                self._keep(unknown(name, f"the process that looked at it {shard.how_it_ended}: see the log above"))
            self._changed.notify_all()
