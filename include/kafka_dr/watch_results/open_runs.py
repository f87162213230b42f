"""Runs that wait for a person, or continue after an answer, and dry runs: one small file for each, until its end.

The status page shows them. They license nothing: what was approved is in the registers alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.codec import StoredDocument, WholeSeconds, stored
from kafka_dr.json_documents import DocumentDamaged, JsonFile

_SCHEMA = 1
#: A run that nobody has closed, because its last task never ran, is forgotten then.
_FORGOTTEN = timedelta(hours=24)
#: The same for a dry run, which waits for nobody.
_DRY_RUN_FORGOTTEN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class OpenRun(StoredDocument):
    """A run that has asked a person, or a dry run, which asks nobody.

    :param question: what was asked, in one line; of a dry run: what it does
    :param people: who may answer
    :param asked_at: UTC; of a dry run: when it began
    :param expires_at: until when an answer counts, UTC
    :param answered_by: who has answered; empty while it waits
    :param dry_run: whether it changes nothing and asks nobody
    :param by: who asked for it; empty where that is not known
    """

    group: str
    run: str
    dag_id: str
    question: str
    people: tuple[str, ...]
    asked_at: WholeSeconds
    expires_at: WholeSeconds
    answered_by: str = ""
    dry_run: bool = False
    by: str = field(default="", metadata=stored(omitted=True))

    @classmethod
    def dry(cls, group: str, run: str, dag_id: str, said: str, began_at: datetime, by: str = "") -> OpenRun:
        """Return a dry run.

        :param said: what it does, in one line
        :param began_at: UTC
        """
        return cls(group, run, dag_id, said, (), began_at, began_at + _DRY_RUN_FORGOTTEN, dry_run=True, by=by)

    def is_waiting(self, now: datetime) -> bool:
        """Return whether an answer would count now."""
        return not self.dry_run and not self.answered_by and now <= self.expires_at

    def is_shown(self, now: datetime) -> bool:
        """Return whether the run may still continue: a question that expired ends its run within minutes."""
        if self.dry_run:
            return now <= self.expires_at
        limit = self.asked_at + _FORGOTTEN if self.answered_by else self.expires_at + timedelta(minutes=10)
        return now <= limit


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """Keeps and reads the runs that are open.

    :param root: the evidence root, a path object
    """

    root: Any

    def ask(self, asked: OpenRun) -> None:
        """Keep a run that waits from now on, or a dry run. What was forgotten is removed.

        :raises OSError: the storage does not take it
        """
        self._file(asked.group, asked.run).write(asked)
        for name, found in self._all():
            if isinstance(found, DocumentDamaged) or not found.is_shown(asked.asked_at):
                self._named(name).remove()

    def answer(self, group: str, run: str, who: str) -> None:
        """Note that somebody has answered; a run that is not open stays so.

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not take it
        """
        found = self._file(group, run).read()
        if found is not None:
            self._file(group, run).write(replace(found, answered_by=who))

    def close(self, group: str, run: str) -> None:
        """Forget a run that has ended.

        :raises OSError: the storage does not answer
        """
        self._file(group, run).remove()

    def read(self, now: datetime) -> tuple[tuple[OpenRun, ...], int]:
        """Return the runs that are open, the oldest first, and how many files cannot be read.

        :param now: UTC
        :raises OSError: the storage does not answer
        """
        found = [each for _, each in self._all()]
        runs = [each for each in found if isinstance(each, OpenRun)]
        shown = sorted((each for each in runs if each.is_shown(now)), key=lambda each: each.asked_at)
        return tuple(shown), len(found) - len(runs)

    def _all(self) -> Iterator[tuple[str, OpenRun | DocumentDamaged]]:
        try:
            names = sorted(path.name for path in self._folder.iterdir())
        except FileNotFoundError:
            return
        for name in names:
            if not name.endswith(".json") or name.startswith("."):
                continue
            try:
                found = self._named(name).read()
            except DocumentDamaged as error:
                yield name, error
                continue
            if found is not None:
                yield name, found

    @property
    def _folder(self) -> Any:
        return self.root.joinpath("watches", ".open")

    def _file(self, group: str, run: str) -> JsonFile[OpenRun]:
        return self._named(f"{hashlib.sha256(f'{group}/{run}'.encode()).hexdigest()[:32]}.json")

    def _named(self, name: str) -> JsonFile[OpenRun]:
        return JsonFile.of(OpenRun, self.root.joinpath("watches", ".open", name), _SCHEMA)
