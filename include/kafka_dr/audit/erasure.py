"""Erasures: content of stranded records that somebody had removed from what is kept; their offsets and counts stay.

Each one is journaled in the register, by the unplanned failover that left the records. Only what a register says
counts: whoever writes the files alone erases nothing, but damages them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.audit.stranded import StrandedFile
from kafka_dr.codec import StoredDocument

_PREFIX = "erased-"


@dataclass(frozen=True, slots=True)
class Erasure(StoredDocument):
    """What was erased from one list of stranded records.

    :param number: of the list's erasures, from 1
    :param run: the name of the sealed evidence about it
    :param at: aware
    :param by: who asked for it, as it was given; nobody verifies that
    :param topic: the only topic that it is about; all if ``None``
    :param key_sha256: what :func:`key_digest` returns for the erased key; every record if ``None``
    :param records: how many lost their content by it
    :param files: the files that it changed, as they are afterwards
    :param approver: who confirmed it
    :param verified: how it is known who confirmed it
    :param signature: of the approver, in base64; empty without a key
    """

    number: int
    run: str
    at: datetime
    by: str
    reason: str
    topic: str | None
    key_sha256: str | None
    records: int
    files: tuple[StrandedFile, ...]
    approver: str = ""
    verified: str = ""
    signature: str = ""

    @property
    def name(self) -> str:
        """The name of the fact in the journal, and of its copy next to the list."""
        return f"{_PREFIX}{self.number}"

    @property
    def sentence(self) -> str:
        """The erasure in words."""
        said = f"erased on {self.at:%Y-%m-%d %H:%M:%S} UTC by {self.by} ({self.reason})"
        return f"{said}, confirmed by {self.approver}, who was verified by {self.verified}" if self.verified else said

    def covers(self, left_by: str, topic: str, key: bytes | None) -> bool:
        """Return whether a record is one of those that were to be erased.

        :param left_by: the unplanned failover that left it
        """
        if self.topic is not None and self.topic != topic:
            return False
        return self.key_sha256 is None or (key is not None and key_digest(left_by, key) == self.key_sha256)


def key_digest(left_by: str, key: bytes) -> str:
    """Return what is kept of an erased key.

    The run is a part of it, so that digests of two lists cannot be compared. Somebody who can guess the key can still
    recognise it: the digest shows that a key was erased, and does not hide one that has few possible values.

    :param left_by: the unplanned failover that left the records
    """
    return hashlib.sha256(left_by.encode() + b"\0" + key).hexdigest()


def erasures_in(journal: Mapping[str, Any]) -> tuple[Erasure, ...]:
    """Return the erasures of a list, in order.

    :param journal: the facts of the unplanned failover that left the records, by name
    :raises NotDecoded: one of them is not what this program writes
    """
    found = (Erasure.from_json(journal[name]) for name in journal if name.startswith(_PREFIX))
    return tuple(sorted(found, key=lambda each: each.number))


def files_after(files: Iterable[StrandedFile], erasures: Iterable[Erasure]) -> tuple[StrandedFile, ...]:
    """Return the files of a list as they have to be after its erasures."""
    changed = {file.path: file for each in erasures for file in each.files}
    return tuple(changed.get(file.path, file) for file in files)


def erased_in(file: str, erasures: Iterable[Erasure]) -> Erasure | None:
    """Return the newest erasure that changed a file; ``None`` if none did.

    :param file: its path below the list's folder
    """
    changed = [each for each in erasures if any(known.path == file for known in each.files)]
    return changed[-1] if changed else None
