"""What a switch relies on of the evidence, held against its digest in the register: others may write these files, too.

A task with the operator's credentials journals the digest of a verified frontier or an offset map when it is written:
a step of a run for the frontier that it moves, the task that started a checksum audit for what the Spark job kept. A
file with another digest is not read, as if it did not exist. What was never journaled is read
until it is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr import parallel
from kafka_dr.audit.recorded_input import RecordedInput
from kafka_dr.errors import KafkaDrError
from kafka_dr.register import Register
from kafka_dr.storage.access import Operation, StorageAccess
from kafka_dr.storage.deadline_path import DeadlinePath

#: The digests are journaled under this name instead of a run's.
AUDITS = "audits"
#: Former digests that stay good, the newest: writers that recorded a file and have not written it yet.
_FORMER = 3


@dataclass(frozen=True, slots=True)
class UnrecordedInput:
    """An input whose files are not what was recorded.

    :param at: when it was recorded last, as text
    """

    what: RecordedInput
    at: str

    def __str__(self) -> str:
        about = f"the {self.what.kind} of {self.what.group} {self.what.direction.replace('-to-', '→')}"
        return f"{about} ({self.what.file}) is not the one that was recorded in the register at {self.at}"


def newest_records(
    register: Callable[[str], Register], group: str, clusters: Sequence[str]
) -> dict[str, Mapping[str, Any]]:
    """Return the digests of a group's inputs, by fact, of each the newest record that one of the registers holds.

    A writer that could not wait for one of the registers, as in an unplanned failover, left an older record there.

    :param register: by cluster
    :param clusters: the first one's register has to answer
    :raises KafkaDrError: it did not
    """
    answers = parallel.ask_each(lambda cluster: register(cluster).history(group).get(AUDITS, {}), clusters)
    first, *others = answers.values()
    if isinstance(first, KafkaDrError):
        raise first
    found: dict[str, Mapping[str, Any]] = dict(first)
    for other in others:
        if not isinstance(other, KafkaDrError):
            found |= {fact: each for fact, each in other.items() if fact not in found or _at(each) > _at(found[fact])}
    return found


def _at(record: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(record["at"]))


def unrecorded(
    root: Any, records: Callable[[], Mapping[str, Mapping[str, Any]]], wanted: Iterable[RecordedInput]
) -> tuple[UnrecordedInput, ...]:
    """Return which of these exist with a digest that was not recorded.

    :param root: the evidence root
    :param records: reads the :func:`newest_records`. They are read again after the files: who writes one records its
        digest first, so older records would not know it
    :raises OSError: the storage refuses
    """
    recorded = records()
    found = {each: each.sha256(root) for each in wanted if each.fact in recorded}
    facts = records()
    return tuple(
        UnrecordedInput(each, str(facts[each.fact]["at"]))
        for each, sha256 in found.items()
        if sha256 and each.fact in facts and sha256 not in facts[each.fact]["sha256"]
    )


def record_input(register: Register, what: RecordedInput, sha256: str, *, at: datetime, held: str = "") -> None:
    """Journal the digest of an input, before or after the file is there.

    Former digests stay good for a while, as several writers may follow each other: one may have recorded a file that it
    has not written yet, or died before it wrote. What the file holds now stays good as long as it was recorded once.

    :param at: aware
    :param held: the digest of what is there now; empty if it is not known
    :raises KafkaDrError: the register did not take it
    """

    def change(before: Mapping[str, Any]) -> Mapping[str, Any]:
        former = before.get("sha256", ())
        kept = dict.fromkeys((sha256, *former[:_FORMER], *(each for each in former if each == held)))
        return {"sha256": list(kept), "at": at.isoformat(timespec="seconds")}

    register.change_fact(what.group, AUDITS, what.fact, change)


@dataclass(slots=True)
class WithoutAccess:
    """Reaches a storage in which some inputs do not exist, until somebody writes them through it.

    :param root: the evidence root, as text
    """

    root: str
    real: StorageAccess
    hidden: set[RecordedInput]

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it; see :class:`~kafka_dr.storage.access.StorageAccess`."""
        if operation in ("read", "size", "list", "is_folder"):
            if any(each.covers(self._below(path)) for each in self.hidden):
                if operation == "is_folder":
                    return b"0"
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        elif operation == "rename":
            self.hidden = {each for each in self.hidden if each.file != self._below(other)}
        return self.real.do(operation, path, other=other, offset=offset, size=size, data=data)

    def _below(self, path: Any) -> str:
        return str(path).removeprefix(self.root).strip("/")


def without(root: DeadlinePath, hidden: Collection[UnrecordedInput]) -> DeadlinePath:
    """Return an evidence root in which these inputs do not exist."""
    if not hidden:
        return root
    return DeadlinePath(root.path, WithoutAccess(str(root), root.access, {each.what for each in hidden}))
