"""Shows what this process executes, while it does: for pages, the command line and the check of every minute.

A thread of its own writes it, so that no step ever waits for the storage. What cannot be written is only not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from kafka_dr.causes import cause, mistake
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.quoting import line
from kafka_dr.storage.access import AccessDeadline
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.storage.deadline_path import DeadlinePath
from kafka_dr.watch_results import RunningStep, RunningSteps
from kafka_dr.watch_results.running_steps import BEAT_SECONDS

#: How long a process that ends waits until its last words are kept.
LAST_WORDS_SECONDS = 1.0
#: How long one access may take. It waits for nothing else: a hanging storage costs no step any time.
_ACCESS_SECONDS = 5.0
_MOST_CHARACTERS = 400


class ShownSteps:
    """The steps that this process executes.

    :param root: the evidence root, a path object; ``None``: nothing is shown
    :param executor: the name of this process
    :param now: returns the time, UTC
    """

    def __init__(self, root: Any, *, executor: str, now: Callable[[], datetime]) -> None:
        self._root = root
        self._executor = executor
        self._now = now
        #: The DAG whose task this process is, and its run; empty without Airflow.
        self.dag_id = self.airflow_run = ""
        self._changed = Condition()
        self._shown: dict[tuple[str, str], RunningStep] = {}
        #: What an earlier process of the run left; looked up once.
        self._earlier: dict[tuple[str, str], RunningStep | None] = {}
        #: Steps that ended badly, while their process finds out what follows.
        self._failed: dict[tuple[str, str], RunningStep] = {}
        self._unwritten: set[tuple[str, str]] = set()
        self._writes = False

    def begins(self, group: str, run: str, verb: str, step: str, *, holds: bool, dry_run: bool = False) -> None:
        """Show that a step begins, or is tried again."""
        now = self._now()
        new = RunningStep(group, run, verb, step, now, now, self._executor, holds, dry_run, dag_id=self.dag_id)
        if self.airflow_run != run:
            new = replace(new, airflow_run=self.airflow_run)
        with self._changed:
            known = self._failed.pop((group, run), self._shown.get((group, run)))
            if known is not None:
                new = _after(known, new)
            self._show(new)

    def says(self, group: str, run: str, sentence: str) -> None:
        """Show what the step waits for. Of one that has ended badly: its process lives, and finds out what follows."""
        with self._changed:
            if (known := self._shown.get((group, run))) is None:
                return
            if known.ended_at is not None and not known.good:
                self._failed[group, run] = known
                known = replace(known, seen_at=self._now(), ended_at=None, ended="", before=known.last_words())
            self._show(replace(known, says=_short(sentence)))

    def ended(self, group: str, run: str, said: str, *, good: bool) -> None:
        """Show that the step has ended."""
        now = self._now()
        with self._changed:
            earlier, known = self._earlier.get((group, run)), self._shown.get((group, run))
            if good and earlier is not None and known is not None and earlier.step == known.step:
                # What stopped the process before is done, so what follows begins to count again.
                self._earlier[group, run] = None
            if (failed := self._failed.pop((group, run), None)) is not None:
                self._shown[group, run] = failed
        self._change(group, run, says="", ended=_short(said), ended_at=now, seen_at=now, good=good)

    def found(self, group: str, run: str, result: Mapping[str, Any]) -> None:
        """Keep what a drill has found with its last step, for pages until readiness has read it."""
        self._change(group, run, result=result)

    def last_words(self, seconds: float = LAST_WORDS_SECONDS) -> None:
        """Wait a moment until everything is written: this process is about to end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._unwritten, seconds)

    def over(self, group: str, run: str) -> None:
        """Show a run no more, because it has ended and holds nothing."""
        self.last_words()
        with self._changed:
            self._shown.pop((group, run), None)
        if self._root is not None:
            with suppress(OSError):
                self._steps.close(group, run)

    def holds(self, group: str, run: str) -> bool:
        """Return whether the step of a run that was shown last may hold the group."""
        known = self._shown.get((group, run))
        return known is not None and known.holds

    @contextmanager
    def step(
        self, group: str, run: str, verb: str, step: str, *, holds: bool = False, dry_run: bool = False
    ) -> Iterator[Callable[[str], None]]:
        """Show a step as long as the block lasts; yield what shows what it does."""
        self.begins(group, run, verb, step, holds=holds, dry_run=dry_run)
        try:
            yield lambda sentence: self.says(group, run, sentence)
        except BaseException as error:
            self.ended(group, run, cause(error) or mistake(error), good=False)
            self.last_words()
            raise
        self.ended(group, run, "done", good=True)
        self.last_words()

    @property
    def _steps(self) -> RunningSteps:
        return RunningSteps(_apart(self._root))

    def _change(self, group: str, run: str, **changes: Any) -> None:
        with self._changed:
            if (known := self._shown.get((group, run))) is not None:
                self._show(replace(known, **changes))

    def _show(self, step: RunningStep) -> None:
        if self._root is None:
            return
        key = step.group, step.run
        self._shown[key] = step
        self._unwritten.add(key)
        if not self._writes:
            self._writes = True
            Thread(target=self._write, name="shown steps", daemon=True).start()
        self._changed.notify_all()

    def _write(self) -> None:
        """Write what changed, and every few seconds what runs, until nothing does."""
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self._unwritten, BEAT_SECONDS):
                    self._unwritten = {key for key, each in self._shown.items() if each.ended_at is None}
                if not self._unwritten:
                    self._writes = False
                    return
                writing = {key: self._shown[key] for key in self._unwritten if key in self._shown}
            for step in writing.values():
                self._written(step)
            with self._changed:
                self._unwritten -= {key for key, each in writing.items() if self._shown.get(key) is each}
                self._unwritten &= self._shown.keys()
                self._changed.notify_all()

    def _written(self, step: RunningStep) -> None:
        with suppress(OSError):
            shown = self._with_earlier(step)
            self._steps.write(replace(shown, seen_at=self._now()) if shown.ended_at is None else shown)

    def _with_earlier(self, step: RunningStep) -> RunningStep:
        key = step.group, step.run
        if key not in self._earlier:
            try:
                found = self._steps.of(*key)
                self._steps.prune(self._now())
            except DocumentDamaged:
                found = None
            self._earlier.setdefault(key, found)
        earlier = self._earlier[key]
        if earlier is None or earlier.good or earlier.executor == step.executor:
            return step
        return replace(step, attempt=earlier.attempt + step.attempt, before=step.before or earlier.last_words())


def _after(known: RunningStep, new: RunningStep) -> RunningStep:
    """Return a step that follows another one of the same process."""
    if known.good:
        return new
    if known.ended_at is None:
        return replace(new, attempt=known.attempt, before=known.before)
    return replace(new, attempt=known.attempt + 1, before=known.last_words())


def _short(sentence: str) -> str:
    said = line(sentence)
    return said if len(said) <= _MOST_CHARACTERS else f"{said[: _MOST_CHARACTERS - 1]}…"


def _apart(root: Any) -> Any:
    """Return a root whose accesses no step waits for, and that wait for no step's."""
    path = root.path if isinstance(root, DeadlinePath) else root
    return DeadlinePath(path, _own_child()) if isinstance(path, Path) else root


@cache
def _own_child() -> ChildAccess:
    return ChildAccess(AccessDeadline(_ACCESS_SECONDS))
