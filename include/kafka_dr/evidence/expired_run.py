"""Runs whose evidence was removed because the topology says for how long it is kept.

What a seal is checked with stays: manifests, checksums, signatures and public keys. So the group's chain of seals stays
whole, and a run that is missing is still seen. ``expired.json`` says what was removed by which rule, and names the run
that recorded it: its sealed evidence has to confirm that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.codec import StoredDocument
from kafka_dr.errors import Refused
from kafka_dr.evidence.canonical import readable
from kafka_dr.evidence.seal import FileDigest, Manifest, seal_number
from kafka_dr.evidence.seal_signature import check_signature
from kafka_dr.evidence.storage_path import StoragePath, create_file, file_names, read_file, read_folder

#: The file in the folder of a run.
EXPIRED = "expired.json"
#: The step that records what was removed. It is no step of a verb.
RETENTION_STEP = "retention"
_SCHEMA_VERSION = 1
_PROOF = re.compile(r"(SHA256SUMS|manifest|signer)(\.[0-9]+)?(\.json|\.sig|\.pem)?")


class EvidenceExpired(Refused):
    """The evidence of a run was removed by a rule of the topology."""


@dataclass(frozen=True, slots=True)
class ExpiredRun(StoredDocument):
    """A run whose evidence is to be removed, as the record of it lists it.

    :param digest: of the manifest of its newest seal; empty if it was never sealed
    :param at: when it was sealed; of a run that was never sealed, when its last step ended; aware
    :param files: how many are removed
    """

    run: str
    digest: str
    at: datetime
    files: int


@dataclass(frozen=True, slots=True)
class Tombstone(StoredDocument):
    """What ``expired.json`` says.

    :param rule: of the topology, in words
    :param at: when the evidence was removed, aware
    :param recorded_by: the run whose evidence lists this one
    :param evidence: the file of that evidence, in the folder of that run
    :param sha256: of that file
    """

    group: str
    run: str
    digest: str
    rule: str
    at: datetime
    recorded_by: str
    evidence: str
    sha256: str

    @property
    def sentence(self) -> str:
        """It in words."""
        return (
            f"its evidence was removed on {self.at:%Y-%m-%d %H:%M:%S} UTC by the rule {self.rule}; recorded by run "
            f"{self.recorded_by}"
        )

    def encoded(self) -> bytes:
        """Return the content of the file."""
        return readable({"schema_version": _SCHEMA_VERSION, **self.to_json()}).encode("utf-8")

    @classmethod
    def decoded(cls, data: bytes) -> Tombstone:
        """Read what :meth:`encoded` returned.

        :raises ValueError: it is something else
        """
        try:
            found = json.loads(data)
            if found.pop("schema_version") != _SCHEMA_VERSION:
                raise ValueError("it was written by a newer version of this program")
            return cls.from_json(found)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"it is not what this program writes ({cause(error)})") from error


def stays(name: str) -> bool:
    """Return whether a file stays when the evidence of its run is removed."""
    return name == EXPIRED or seal_number(name) is not None or _PROOF.fullmatch(name) is not None


def tombstone_in(stored: Mapping[str, bytes]) -> Tombstone | None:
    """Return what the files of a run say about its removal; ``None`` if they say nothing.

    :raises ValueError: the file is not what this program writes
    """
    return Tombstone.decoded(stored[EXPIRED]) if EXPIRED in stored else None


def remove_evidence(folder: Any, tombstone: Tombstone) -> None:
    """Remove the evidence of a sealed run. A process that dies in between is continued by calling this again.

    :param folder: of the run, a path object
    :raises OSError: the storage fails
    """
    with suppress(FileExistsError):
        create_file(folder.joinpath(EXPIRED), tombstone.encoded())
    for name in sorted(file_names(folder)):
        if not stays(name):
            with suppress(FileNotFoundError):
                folder.joinpath(name).unlink()


def check_expired(
    folder: StoragePath, manifest: Manifest, tombstone: Tombstone, expected: str | None
) -> tuple[list[str], list[str]]:
    """Return what speaks against the removal of a run's evidence, and what stays unproven about it.

    :param folder: of the run that recorded it
    :param manifest: of the newest seal of the run whose evidence was removed
    :param expected: the fingerprint of the trusted key; ``None`` if no key is trusted
    """
    unconfirmed = f"{EXPIRED}: {tombstone.recorded_by} does not confirm that this evidence was removed by a rule"
    if (tombstone.group, tombstone.run, tombstone.digest) != (manifest.group, manifest.run, manifest.digest):
        return [f"{EXPIRED}: it is about another run or another seal"], []
    data = read_file(folder.joinpath(tombstone.evidence))
    if data is None or FileDigest.of(tombstone.evidence, data).sha256 != tombstone.sha256:
        return [unconfirmed], []
    if not _lists(data, manifest):
        return [unconfirmed], []
    wrong, unproven = _sealed(read_folder(folder), FileDigest.of(tombstone.evidence, data), manifest, expected)
    return [f"{unconfirmed}: {said}" for said in wrong], unproven


def _lists(data: bytes, manifest: Manifest) -> bool:
    try:
        rows = json.loads(data)["facts"]["runs"]
        return any((row["run"], row["digest"]) == (manifest.run, manifest.digest) for row in rows)
    except (ValueError, LookupError, TypeError):
        return False


def _sealed(
    stored: Mapping[str, bytes], evidence: FileDigest, manifest: Manifest, expected: str | None
) -> tuple[list[str], list[str]]:
    """Check that a seal covers a file of evidence, signed if the run that it is about was signed."""
    for name in sorted(stored):
        number = seal_number(name)
        if number is None:
            continue
        try:
            record = Manifest.from_json(json.loads(stored[name]))
        except ValueError:
            continue
        if evidence in record.files and record.group == manifest.group:
            if manifest.signer is not None and record.signer is None:
                return ["it is not signed, and the run was"], []
            return check_signature(number, record, stored, expected)
    return ["it is not sealed"], []
