"""Seals: which files a run had, with which content, and what has changed since."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.errors import NeedsPerson
from kafka_dr.evidence.canonical import digest, plain

SCHEMA_VERSION = 1


class EvidenceChanged(NeedsPerson):
    """Sealed evidence was changed. It proves nothing until somebody finds out why."""


@dataclass(frozen=True, slots=True, order=True)
class FileDigest:
    """A file and the digest of its content."""

    name: str
    sha256: str
    size: int

    @classmethod
    def of(cls, name: str, data: bytes) -> FileDigest:
        """Return the digest of some content."""
        return cls(name, hashlib.sha256(data).hexdigest(), len(data))


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a seal covers."""

    group: str
    run: str
    sealed_at: datetime
    files: tuple[FileDigest, ...]

    @property
    def digest(self) -> str:
        """The digest of the manifest itself. A copy of it, kept elsewhere, shows whether the manifest was replaced."""
        return digest(self._facts())

    def _facts(self) -> dict[str, object]:
        return {
            "schema_version": SCHEMA_VERSION,
            "group": self.group,
            "run": self.run,
            "sealed_at": self.sealed_at,
            "files": self.files,
        }

    def to_json(self) -> dict[str, object]:
        """Return the JSON of the manifest."""
        return {**self._facts(), "digest": self.digest}

    @classmethod
    def from_json(cls, stored: object) -> Manifest:
        """Read a stored manifest.

        :raises ValueError: it is not exactly what :meth:`to_json` returned, its own digest included
        """
        if not isinstance(stored, dict) or stored.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"expected an object with schema_version {SCHEMA_VERSION}")
        try:
            manifest = cls(
                group=str(stored["group"]),
                run=str(stored["run"]),
                sealed_at=datetime.fromisoformat(str(stored["sealed_at"])),
                files=tuple(FileDigest(str(f["name"]), str(f["sha256"]), int(f["size"])) for f in stored["files"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"a part is missing or of the wrong type: {error}") from error
        if plain(manifest.to_json()) != stored:
            raise ValueError("its digest is not that of its content")
        return manifest


@dataclass(frozen=True, slots=True)
class Seal:
    """A seal of a run.

    :param path: the run's folder, below the evidence root
    :param page: the file with the page
    :param manifest: the file that the others are verified with
    :param digest: the manifest's digest
    """

    group: str
    run: str
    path: str
    page: str
    manifest: str
    digest: str


@dataclass(frozen=True, slots=True)
class Verification:
    """How the stored files differ from a seal. Files that were added later are named; it does not cover them."""

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def intact(self) -> bool:
        """Whether every sealed file is unchanged."""
        return not self.changed and not self.missing

    def __str__(self) -> str:
        parts = [
            f"{word}: {', '.join(names)}"
            for word, names in (("changed", self.changed), ("missing", self.missing), ("added", self.added))
            if names
        ]
        return "; ".join(parts) + "." if parts else "every file is unchanged."


def seal_names(number: int) -> tuple[str, str]:
    """Return the file names of page and manifest of the nth seal of a run."""
    middle = "" if number == 1 else f".{number}"
    return f"report{middle}.html", f"manifest{middle}.json"


def seal_number(name: str) -> int | None:
    """Return the number of the seal whose manifest has this name; ``None`` for any other file."""
    found = re.fullmatch(r"manifest(?:\.([1-9][0-9]*))?\.json", name)
    return int(found[1] or 1) if found else None


def compare(seal: Seal, stored: Mapping[str, bytes]) -> Verification:
    """Compare the stored files of a run with one of its seals.

    :param stored: content by name
    """
    if seal.manifest not in stored:
        return Verification(changed=(), missing=(seal.manifest,), added=())
    try:
        manifest = Manifest.from_json(json.loads(stored[seal.manifest]))
    except ValueError:
        return Verification(changed=(seal.manifest,), missing=(), added=())
    if (manifest.digest, manifest.group, manifest.run) != (seal.digest, seal.group, seal.run):
        return Verification(changed=(seal.manifest,), missing=(), added=())
    sealed = {file.name: file for file in manifest.files}
    return Verification(
        changed=tuple(
            name for name, file in sealed.items() if name in stored and FileDigest.of(name, stored[name]) != file
        ),
        missing=tuple(name for name in sealed if name not in stored),
        added=tuple(sorted(stored.keys() - sealed.keys() - {seal.manifest})),
    )
