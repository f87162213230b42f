"""How the last runs of a group ended: a short list for the status page. The evidence of each run has everything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_dr.codec import InOrder, StoredDocument, WholeSeconds, stored
from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.quoting import unescaped

_SCHEMA = 1
#: How the note of a run begins whose roll back did not finish.
NOT_BACK = "NOT ROLLED BACK"
#: What a failback says, before the reason, that is refused because only a rebuild is possible.
NEEDS_REBUILD = "Trigger a new run with the mode rebuild, because "
#: The name of a check before its finding.
_CHECK = re.compile(r"^[a-z_]+: ")
#: How many runs of a group are listed.
_LISTED = 20


@dataclass(frozen=True, slots=True)
class RunEnding(StoredDocument):
    """How a run ended.

    :param note: Markdown, one line
    :param good: whether the run did what it was asked for
    :param ended_at: UTC
    :param steps: seconds of the last try of each step, in order; none of a dry run
    :param measured: what the run measured, in seconds, by name
    :param objectives: what it was to keep, in seconds, by name
    :param by: who asked for it; empty where that is not known
    :param record: what the register said at the end of a run that took the group, as health keeps it; empty if it was
        not read
    """

    run: str
    dag_id: str
    note: str
    good: bool
    ended_at: WholeSeconds
    steps: InOrder = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    objectives: Mapping[str, float] = field(default_factory=dict)
    by: str = field(default="", metadata=stored(omitted=True))
    record: Mapping[str, Any] = field(default_factory=dict, metadata=stored(omitted=True))

    @property
    def is_not_back(self) -> bool:
        """Whether the run could not be rolled back."""
        return self.note.startswith(NOT_BACK)

    @property
    def needs_rebuild(self) -> bool:
        """Whether it was a failback that was refused because only a rebuild is possible."""
        return not self.good and NEEDS_REBUILD in unescaped(self.note)

    @property
    def refused(self) -> str:
        """Why the run was refused, in one clause; empty if it was not."""
        said = unescaped(self.note)
        if not said.startswith("REFUSED at "):
            return ""
        clause = said.partition(": ")[2].rpartition(NEEDS_REBUILD)[2].partition(". ")[0].rstrip(".")
        return _CHECK.sub("", clause)


@dataclass(frozen=True, slots=True)
class RunEndings:
    """Keeps and reads the list of a group's last runs.

    :param root: the evidence root, a path object
    """

    root: Any

    def keep(self, group: str, ending: RunEnding) -> None:
        """Put a run at the top of the list. A run that ended before and continued has only its newest ending there.

        A list that is damaged is begun again.

        :raises OSError: the storage does not take it
        """
        try:
            known = self.read(group)
        except DocumentDamaged:
            known = ()
        others = (each for each in known if (each.dag_id, each.run) != (ending.dag_id, ending.run))
        self._file(group).write((ending, *others)[:_LISTED])

    def read(self, group: str) -> tuple[RunEnding, ...]:
        """Return the last runs of a group, the newest first.

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not answer
        """
        return self._file(group).read() or ()

    def _file(self, group: str) -> JsonFile[tuple[RunEnding, ...]]:
        path = self.root.joinpath("watches", group, "runs.json")
        return JsonFile.of(tuple[RunEnding, ...], path, _SCHEMA, under="runs")


def is_over(run: str, since: datetime, endings: Iterable[RunEnding] | Exception) -> bool:
    """Return whether a run is listed as ended since a time.

    :param endings: how the last runs of its group ended, or the error if that cannot be read: then nothing is listed
    """
    listed = () if isinstance(endings, Exception) else endings
    return any(each.run == run and each.ended_at >= since for each in listed)


def read_endings(groups: Iterable[str], store: RunEndings) -> dict[str, tuple[RunEnding, ...] | Exception]:
    """Return the last runs of each group, or the error if its list cannot be read."""
    return {group: _readable(group, store) for group in groups}


def _readable(group: str, store: RunEndings) -> tuple[RunEnding, ...] | Exception:
    try:
        return store.read(group)
    except (DocumentDamaged, OSError) as error:
        return error
