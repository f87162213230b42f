"""Every change of an outcome, in one file for each watch and day; old days are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.watch_results.kept import KeptResult
from kafka_dr.watch_results.watches import WatchName

_SCHEMA = 1
#: How long the changes of a day are kept.
_KEPT = timedelta(days=30)
#: Changes of one day and watch. A group that changes with every look must not fill the storage.
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """A look that had another outcome than the look before.

    :param before: the outcome of the look before; empty if there was none
    :param at: when the look ended, UTC
    :param sentence: the first thing that it said
    """

    group: str
    before: str
    after: str
    at: datetime
    sentence: str

    @classmethod
    def between(cls, before: KeptResult | None, after: KeptResult) -> OutcomeChange:
        """Return the change from one result to the next."""
        said = next(iter(after.sentences), "")
        return cls(after.group, before.outcome if before else "", after.outcome, after.looked_at, said)

    def to_json(self) -> dict[str, str]:
        """Return the fields of the stored document."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds")
        return {"group": self.group, "before": self.before, "after": self.after, "at": at, "sentence": self.sentence}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> OutcomeChange:
        """Read what :meth:`to_json` returned.

        :raises ValueError: a field has another value than this program writes
        :raises KeyError: a field is missing
        """
        group, before, after, sentence = (str(stored[name]) for name in ("group", "before", "after", "sentence"))
        return cls(group, before, after, datetime.fromisoformat(stored["at"]), sentence)


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
        return JsonFile(
            self._folder.joinpath(f"{day.isoformat()}.json"),
            schema=_SCHEMA,
            to_json=lambda changes: {"changes": [each.to_json() for each in changes]},
            from_json=lambda stored: tuple(map(OutcomeChange.from_json, stored["changes"])),
        )
