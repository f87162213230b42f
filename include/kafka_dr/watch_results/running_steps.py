"""What each run executes now: one small file for each, which its process replaces every few seconds.

Before the claim no register knows of a run, and its first step takes up to minutes. Pages, the command line and the
check of every minute read these files. They license nothing: whoever may change a group is in the registers alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_dr.codec import StoredDocument, stored
from kafka_dr.durations import duration
from kafka_dr.json_documents import DocumentDamaged, JsonFile

_SCHEMA = 1
#: How often a process shows that it is there, in seconds.
BEAT_SECONDS = 10.0
#: A process that showed no life for so long counts as dead: it shows life every 20 seconds in the registers, too, and
#: Airflow needs a few seconds between two tasks.
DEAD_AFTER = timedelta(seconds=45)
#: After a step that ended, the next one begins within this time. A bad end, and a result, is shown for longer.
_NEXT_WITHIN, _END_SHOWN = timedelta(minutes=1), timedelta(minutes=10)
#: What nobody has closed is forgotten then.
_FORGOTTEN = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RunningStep(StoredDocument):
    """The step that a run executes, or executed last.

    :param began_at: of this attempt, UTC
    :param seen_at: when its process last showed that it is there, UTC
    :param executor: that process
    :param holds: whether the run may hold the group: it claims it, or has claimed it
    :param attempt: how often this was tried since a step ended well
    :param before: why the attempt before this one ended; empty for the first
    :param says: what it waits for, or tries again; empty if nothing
    :param ended_at: UTC; ``None`` while it runs
    :param ended: how it ended, in one sentence
    :param good: whether it ended well
    :param dag_id: the DAG of its run in Airflow; empty without Airflow
    :param airflow_run: the run in Airflow that executes it, if that has another id: of a drill, or a resume; else empty
    :param result: what a drill found that has ended, as readiness keeps it; empty of all others
    """

    group: str
    run: str
    verb: str
    step: str
    began_at: datetime
    seen_at: datetime
    executor: str
    holds: bool = False
    dry_run: bool = False
    attempt: int = 1
    before: str = ""
    says: str = ""
    ended_at: datetime | None = None
    ended: str = ""
    good: bool = False
    dag_id: str = ""
    airflow_run: str = field(default="", metadata=stored(omitted=True))
    result: Mapping[str, Any] = field(default_factory=dict, metadata=stored(omitted=True))

    @property
    def title(self) -> str:
        """The step for people."""
        return self.step.replace("_", " ")

    def is_silent(self, now: datetime) -> bool:
        """Return whether its process counts as dead, without having said that it ended."""
        return self.ended_at is None and now - self.seen_at > DEAD_AFTER

    def is_shown(self, now: datetime) -> bool:
        """Return whether the run may still continue, or people have to look at it."""
        if self.ended_at is None:
            return now - self.seen_at <= _FORGOTTEN
        return now - self.ended_at <= (_NEXT_WITHIN if self.good and not self.result else _END_SHOWN)

    def continues(self, now: datetime) -> bool:
        """Return whether its run may change the group still; one that failed before it held the group has ended."""
        if self.dry_run or self.is_silent(now):
            return False
        return self.is_shown(now) and (self.ended_at is None or self.good or self.holds)

    def is_half_moved(self, now: datetime) -> bool:
        """Return whether a run that may hold its group has no process any more, as far as this file knows."""
        if not self.holds or self.dry_run:
            return False
        stopped = self.ended_at is not None and not self.good and now - self.ended_at > DEAD_AFTER
        return stopped or self.is_silent(now)

    def sentence(self, now: datetime) -> str:
        """Return what runs, since when, which attempt it is and why the last one ended."""
        since = f"{self.title}, since {self.began_at.astimezone(UTC):%H:%M:%S} UTC"
        tried = f", attempt {self.attempt}" if self.attempt > 1 else ""
        parts = [f"{since} ({duration(now - self.began_at)}){tried}"]
        if self.ended_at is not None:
            ago = f"{duration(now - self.ended_at)} ago"
            bad = f"{self.title} failed {ago}{tried}: {self.ended}"
            parts = [f"no step runs: {self.title} ended {ago}" if self.good else bad]
        elif self.is_silent(now):
            parts.append(f"its process {self.executor} has shown no sign of life for {duration(now - self.seen_at)}")
        parts += [said for said in (self.says if self.ended_at is None else "",) if said]
        if self.before:
            parts.append(f"the attempt before: {self.before}")
        return ". ".join(f"{part[:1].upper()}{part[1:]}" for part in parts)

    def last_words(self) -> str:
        """Return how this attempt ended, for the next one."""
        if self.ended_at is not None:
            return f"{self.title} failed: {self.ended}"
        seen = f"{self.seen_at.astimezone(UTC):%H:%M:%S} UTC"
        return (
            f"{self.title} stopped without recording a result; its process {self.executor} last showed life at {seen}"
        )


@dataclass(frozen=True, slots=True)
class RunningSteps:
    """Keeps and reads what runs execute.

    :param root: the evidence root, a path object
    """

    root: Any

    def write(self, step: RunningStep) -> None:
        """Replace what is kept of the run.

        :raises OSError: the storage does not take it
        """
        self._file(step.group, step.run).write(step)

    def of(self, group: str, run: str) -> RunningStep | None:
        """Return what a run executes; ``None`` if nothing is kept of it.

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not answer
        """
        return self._file(group, run).read()

    def close(self, group: str, run: str) -> None:
        """Forget a run that has ended.

        :raises OSError: the storage does not answer
        """
        self._file(group, run).remove()

    def read(self, now: datetime) -> tuple[tuple[RunningStep, ...], int]:
        """Return what runs execute, the oldest first, and how many files cannot be read. What is forgotten is removed.

        :param now: UTC
        :raises OSError: the storage does not answer
        """
        found, damaged = [], 0
        for name in self._names():
            try:
                step = self._named(name).read()
            except DocumentDamaged:
                damaged += 1
                continue
            if step is not None and step.is_shown(now):
                found.append(step)
        return tuple(sorted(found, key=lambda each: each.began_at)), damaged

    def prune(self, now: datetime) -> None:
        """Remove what is forgotten.

        :param now: UTC
        :raises OSError: the storage does not answer
        """
        for name in self._names():
            try:
                step = self._named(name).read()
            except DocumentDamaged:
                continue
            if step is not None and now - step.seen_at > _FORGOTTEN:
                self._named(name).remove()

    def _names(self) -> Iterable[str]:
        try:
            names = sorted(path.name for path in self._folder.iterdir())
        except FileNotFoundError:
            return ()
        return [name for name in names if name.endswith(".json") and not name.startswith(".")]

    @property
    def _folder(self) -> Any:
        return self.root.joinpath("watches", ".running")

    def _file(self, group: str, run: str) -> JsonFile[RunningStep]:
        return self._named(f"{hashlib.sha256(f'{group}/{run}'.encode()).hexdigest()[:32]}.json")

    def _named(self, name: str) -> JsonFile[RunningStep]:
        return JsonFile.of(RunningStep, self._folder.joinpath(name), _SCHEMA)
