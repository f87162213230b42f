"""Seals: which files a run had, with which content, and what has changed since."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_dr.codec import ZuluTime, decode, encode, stored
from kafka_dr.errors import NeedsPerson
from kafka_dr.evidence.canonical import digest

SCHEMA_VERSION = 2
#: That of an incomplete seal: who checks seals by the manifest alone must not take it for a complete one.
INCOMPLETE_VERSION = 3


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
class PreviousSeal:
    """The seal that was the group's newest when another one was made: a run that is removed leaves a gap.

    :param digest: of its manifest
    """

    run: str
    manifest: str
    digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a seal covers.

    :param previous: the group's seal before this one, of whatever run; ``None`` if none was known
    :param signer: the fingerprint of the key that signs, see :func:`~kafka_dr.evidence.signing.fingerprint`; ``None``
        if nobody does
    :param incomplete: the steps whose evidence was not stored when the run was sealed
    """

    group: str
    run: str
    sealed_at: ZuluTime
    files: tuple[FileDigest, ...]
    previous: PreviousSeal | None = None
    signer: str | None = None
    version: int = field(default=SCHEMA_VERSION, metadata=stored("schema_version"))
    incomplete: tuple[str, ...] = field(default=(), metadata=stored(omitted=True))

    @property
    def digest(self) -> str:
        """The digest of the manifest itself. A copy of it, kept elsewhere, shows whether the manifest was replaced."""
        return digest(encode(self))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the manifest."""
        return {**encode(self), "digest": self.digest}

    @classmethod
    def from_json(cls, found: object) -> Manifest:
        """Read a stored manifest.

        :raises ValueError: it is not exactly what :meth:`to_json` returned, its own digest included
        """
        known = (SCHEMA_VERSION, INCOMPLETE_VERSION)
        if not isinstance(found, dict) or found.get("schema_version") not in known:
            raise ValueError(f"expected an object with the schema_version {SCHEMA_VERSION} or {INCOMPLETE_VERSION}")
        manifest = decode(cls, {name: value for name, value in found.items() if name != "digest"})
        if manifest.to_json() != found:
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


class ProofNames(NamedTuple):
    """The files with which a seal can be checked without this project.

    :param sums: the SHA-256 of every file, its manifest among them, as ``sha256sum`` writes them
    :param signature: of that file, 64 bytes
    :param public_key: of the signer, in PEM
    """

    sums: str
    signature: str
    public_key: str


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


def proof_names(number: int) -> ProofNames:
    """Return the names of the checksums, the signature and the public key of the nth seal of a run."""
    middle = "" if number == 1 else f".{number}"
    return ProofNames(f"SHA256SUMS{middle}", f"SHA256SUMS{middle}.sig", f"signer{middle}.pem")


def sums_of(files: Iterable[FileDigest]) -> str:
    """Return checksums as ``sha256sum --check`` reads them."""
    return "".join(f"{file.sha256}  {file.name}\n" for file in sorted(files))


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
    return compare_files(manifest, seal.manifest, stored)


def compare_files(manifest: Manifest, name: str, stored: Mapping[str, bytes]) -> Verification:
    """Compare the files of a run with one of its manifests, which itself is believed.

    :param name: of the manifest's file
    :param stored: content by name
    """
    sealed = {file.name: file for file in manifest.files}
    return Verification(
        changed=tuple(
            each for each, file in sealed.items() if each in stored and FileDigest.of(each, stored[each]) != file
        ),
        missing=tuple(each for each in sealed if each not in stored),
        added=tuple(sorted(stored.keys() - sealed.keys() - {name, *_proofs_of(name)})),
    )


def _proofs_of(manifest: str) -> tuple[str, ...]:
    number = seal_number(manifest)
    return () if number is None else proof_names(number)
