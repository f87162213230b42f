"""Every change of an outcome, in one file for each watch and day; old days are removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from kafka_dr.codec import StoredDocument, WholeSeconds
from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.watch_results.kept import KeptResult
from kafka_dr.watch_results.watches import WatchName

_SCHEMA = 1
#: How long the changes of a day are kept.
_KEPT = timedelta(days=30)
#: Changes of one day and watch. A group that changes with every look must not fill the storage.
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class OutcomeChange(StoredDocument):
    """A look that had another outcome than the look before.

    :param before: the outcome of the look before; empty if there was none
    :param at: when the look ended, UTC
    :param sentence: the first thing that it said
    """

    group: str
    before: str
    after: str
    at: WholeSeconds
    sentence: str

    @classmethod
    def between(cls, before: KeptResult | None, after: KeptResult) -> OutcomeChange:
        """Return the change from one result to the next."""
        said = next(iter(after.sentences), "")
        return cls(after.group, before.outcome if before else "", after.outcome, after.looked_at, said)


@dataclass(frozen=True, slots=True)
class OutcomeChanges:
    """The changes of a watch, by day.

    :param root: the evidence root, a path object
    """

    root: Any
    watch: WatchName

    def add(self, changes: Sequence[OutcomeChange]) -> None:
        """Add changes to the file of their day. The first one of a day also removes the files of old days.

        :raises OSError: the storage does not take them
        """
        if not changes:
            return
        day = changes[0].at.astimezone(UTC).date()
        try:
            known = self._file(day).read()
        except DocumentDamaged:
            known = ()
        self._file(day).write((*(known or ()), *changes)[-_MOST:])
        if known is None:
            self._remove_before(day - _KEPT)

    def of(self, day: date) -> tuple[OutcomeChange, ...]:
        """Return the changes of a day, the oldest first.

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not answer
        """
        return self._file(day).read() or ()

    def _remove_before(self, oldest: date) -> None:
        for path in self._folder.iterdir():
            if path.name.endswith(".json") and path.name < f"{oldest.isoformat()}.json":
                path.unlink()

    @property
    def _folder(self) -> Any:
        return self.root.joinpath("watches", ".changes", self.watch)

    def _file(self, day: date) -> JsonFile[tuple[OutcomeChange, ...]]:
        path = self._folder.joinpath(f"{day.isoformat()}.json")
        return JsonFile.of(tuple[OutcomeChange, ...], path, _SCHEMA, under="changes")
