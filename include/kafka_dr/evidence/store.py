"""Evidence of runs: one JSON file for each attempt of each step, written once and never again.

``runs/<group>/<run>/<nn>-<step>.<attempt>.json`` below the root, and, once sealed, ``report.html`` and
``manifest.json`` beside them. A run that goes on after it was sealed is sealed again under the next number; each seal
covers the ones before it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from kafka_dr.clock import Clock, SystemClock
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.evidence.canonical import plain, readable
from kafka_dr.evidence.known_secrets import KnownSecrets, refuse_secrets
from kafka_dr.evidence.page import render_page
from kafka_dr.evidence.run_view import RunView, build_run_view
from kafka_dr.evidence.seal import (
    EvidenceChanged,
    FileDigest,
    Manifest,
    Seal,
    Verification,
    compare,
    seal_names,
    seal_number,
)
from kafka_dr.evidence.storage import StoragePath

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+@=~-]{0,249}")
_STEP = re.compile(r"\d+-.+\.\d+\.json")
_MOST_ATTEMPTS = 10_000


class EvidenceUnwritable(TryAgain):
    """The evidence could not be stored. An unfinished file may be there; it is never read as a good one."""


class EvidenceUnfinished(TryAgain):
    """The newest evidence of a step was cut off while it was written. It says nothing, and nothing is read instead."""


class UnusableName(Refused):
    """A group, run or step has a name that cannot be part of a path. Nothing was written."""


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """A piece of evidence, bound to its content.

    :param path: below the evidence root
    :param sha256: of the file's bytes, in hex
    :param attempt: which attempt of the step this is, from 1
    """

    path: str
    sha256: str
    attempt: int


@dataclass(frozen=True, slots=True)
class EvidenceStore:
    """Where evidence is written, sealed and verified.

    :param root: a path object; only its maker knows what kind of storage it is
    :param clock: what seals are stamped with
    :param secrets: what must not be in any evidence; whoever resolves a connection adds to it
    """

    root: StoragePath
    clock: Clock = field(default_factory=SystemClock)
    secrets: KnownSecrets = field(default_factory=KnownSecrets, repr=False, compare=False)

    def write(self, group: str, run: str, number: int, step: str, payload: Mapping[str, object]) -> EvidenceRef:
        """Store what a step saw, as the next attempt that is free.

        :param number: the step's place in its verb
        :param payload: what to store; ``attempt`` is filled in unless it is given
        :raises SecretInEvidence: when it holds a secret; nothing was written
        :raises NotCanonical: when it has no canonical form; nothing was written
        :raises EvidenceUnwritable: when the storage fails
        """
        content = plain(payload)
        refuse_secrets(content, self.secrets)
        folder = self._folder(group, run)
        stem = f"{number:02d}-{_usable(step, 'step')}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for attempt in range(1, _MOST_ATTEMPTS):
                data = readable({"attempt": attempt, **dict(payload)}).encode("utf-8")
                name = f"{stem}.{attempt}.json"
                with suppress(FileExistsError):
                    _create(folder.joinpath(name), data)
                    return EvidenceRef(f"runs/{group}/{run}/{name}", hashlib.sha256(data).hexdigest(), attempt)
        except OSError as error:
            raise self._unwritable(folder, error) from error
        raise EvidenceUnwritable(f"Step {step} of run {run} has {_MOST_ATTEMPTS} attempts in {folder}: end this run.")

    def newest(self, group: str, run: str, step: str) -> dict[str, Any] | None:
        """Return what the newest attempt of a step wrote, or None if the step never wrote anything.

        :raises EvidenceUnfinished: when that file was cut off; an older one would only look like an answer
        """
        folder, name = self._folder(group, run), self._newest(group, run, step)
        if name is None:
            return None
        try:
            payload = json.loads(folder.joinpath(name).read_bytes())
        except (OSError, ValueError) as error:
            raise EvidenceUnfinished(
                f"The evidence {name} of run {run} cannot be read ({error}): its writer was cut off, run {step} again."
            ) from error
        if not isinstance(payload, dict):
            raise EvidenceUnfinished(f"The evidence {name} of run {run} holds no object: run {step} again.")
        return payload

    def sealed_step(self, group: str, run: str, step: str) -> dict[str, Any] | None:
        """Return what the newest attempt of a step under a run's newest seal wrote; None where there is none.

        Two files are read, however much evidence the run has.

        :raises EvidenceChanged: when the manifest or that file is not what was sealed
        """
        _, manifest = self._sealed(group, run)
        sealed = {file.name: file for file in manifest.files} if manifest is not None else {}
        name = _newest_of(sealed, step)
        if name is None:
            return None
        newest, data = sealed[name], _read(self._folder(group, run).joinpath(name))
        if data is None or FileDigest.of(newest.name, data) != newest:
            raise EvidenceChanged(f"The evidence {newest.name} of run {run} is not what was sealed.")
        payload = json.loads(data)
        return payload if isinstance(payload, dict) else None

    def last_step(self, group: str, run: str) -> datetime | None:
        """Return when a step of a run last left evidence, or None if none did. What is cut off counts for nothing."""
        folder = self._folder(group, run)
        ends = [_finished(folder.joinpath(name)) for name in _names(folder) if _STEP.fullmatch(name)]
        return max(filter(None, ends), default=None)

    def seal(self, group: str, run: str) -> Seal:
        """Write the page and the manifest over everything that is there; sealing again without news changes nothing.

        :raises EvidenceChanged: when a file that was sealed before is no longer what it was
        :raises EvidenceUnwritable: when the storage fails
        """
        folder = self._folder(group, run)
        earlier = self.newest_seal(group, run)
        if earlier is not None:
            verification = self.verify(earlier)
            if verification.changed or verification.missing:
                raise EvidenceChanged(f"The evidence of run {run} is not sealed again: {verification}")
            if not verification.added:
                return earlier
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return self._seal(group, run, folder=folder, sealed_at=self.clock.now())
        except OSError as error:
            raise self._unwritable(folder, error) from error

    def newest_seal(self, group: str, run: str) -> Seal | None:
        """Return the newest seal of a run, or None if it was never sealed. A seal that was cut off is none.

        :raises EvidenceChanged: when the newest manifest is whole but contradicts itself
        """
        number, sealed = self._sealed(group, run)
        if sealed is None:
            return None
        page, manifest = seal_names(number)
        return Seal(group, run, f"runs/{group}/{run}", page, manifest, sealed.digest)

    def is_sealed_with(self, group: str, run: str, step: str) -> bool:
        """Return whether the newest seal of a run covers the newest word of a step; not where it left none.

        :raises EvidenceChanged: when the newest manifest is whole but contradicts itself
        """
        sealed, word = self._sealed(group, run)[1], self._newest(group, run, step)
        return sealed is not None and any(file.name == word for file in sealed.files)

    def verify(self, seal: Seal) -> Verification:
        """Compare a sealed run with what is stored, and name every file that differs."""
        folder = self._folder(seal.group, seal.run)
        return compare(seal, _stored(folder))

    def page(self, group: str, run: str) -> str | None:
        """Return the page of a run: the sealed one, or, where the newest seal does not cover everything, one of now.

        :raises EvidenceChanged: when a file that was sealed is no longer what it was
        """
        folder = self._folder(group, run)
        stored = _stored(folder)
        if not stored:
            return None
        if (seal := self.newest_seal(group, run)) is not None:
            verification = compare(seal, stored)
            if not verification.intact:
                raise EvidenceChanged(f"The evidence of run {run} is not what was sealed: {verification}")
            if not verification.added:
                return stored[seal.page].decode("utf-8")
        files = (FileDigest.of(name, data) for name, data in sorted(stored.items()))
        return render_page(build_run_view(group, run, stored), files=files, sealed_at=None)

    def run_view(self, group: str, run: str) -> RunView:
        """Return what the evidence of a run says so far; an unsealed run has a view as well.

        :raises EvidenceChanged: when a file that was sealed is no longer what it was
        """
        stored = _stored(self._folder(group, run))
        if (
            stored
            and (seal := self.newest_seal(group, run)) is not None
            and not (found := compare(seal, stored)).intact
        ):
            raise EvidenceChanged(f"The evidence of run {run} is not what was sealed: {found}")
        return build_run_view(group, run, stored)

    def locate(self, path: str) -> str:
        """Return where a path below the root really is, for a person to open."""
        return str(self.root.joinpath(*path.split("/")))

    def _seal(self, group: str, run: str, *, folder: StoragePath, sealed_at: datetime) -> Seal:
        stored = {name: folder.joinpath(name).read_bytes() for name in _names(folder)}
        number = 1
        while stored.keys() & set(seal_names(number)):
            number += 1
        page, manifest = seal_names(number)
        evidence = tuple(FileDigest.of(name, data) for name, data in sorted(stored.items()))
        html = render_page(build_run_view(group, run, stored), files=evidence, sealed_at=sealed_at).encode("utf-8")
        files = tuple(sorted((*evidence, FileDigest.of(page, html))))
        sealed = Manifest(group, run, sealed_at, files)
        _create(folder.joinpath(page), html)
        _create(folder.joinpath(manifest), readable(sealed.to_json()).encode("utf-8"))
        return Seal(group, run, f"runs/{group}/{run}", page, manifest, sealed.digest)

    def _sealed(self, group: str, run: str) -> tuple[int, Manifest | None]:
        """Return the newest manifest of a run and its number."""
        folder = self._folder(group, run)
        for number in sorted(filter(None, map(seal_number, _names(folder))), reverse=True):
            place = folder.joinpath(seal_names(number)[1])
            try:
                stored = json.loads(place.read_bytes())
            except ValueError:
                continue
            try:
                return number, Manifest.from_json(stored)
            except ValueError as error:
                raise EvidenceChanged(
                    f"The manifest {place} is not what was written ({error}): the evidence of run "
                    f"{run} proves nothing until it is restored from a copy."
                ) from error
        return 0, None

    def _newest(self, group: str, run: str, step: str) -> str | None:
        """Return the file of a step's newest attempt, None where it never wrote any."""
        return _newest_of(_names(self._folder(group, run)), step)

    def _folder(self, group: str, run: str) -> StoragePath:
        folder: StoragePath = self.root.joinpath("runs", _usable(group, "group"), _usable(run, "run"))
        return folder

    def _unwritable(self, folder: StoragePath, error: OSError) -> EvidenceUnwritable:
        return EvidenceUnwritable(
            f"Evidence could not be written to {folder} ({error}): expected a place that this process may write, with "
            "space; check evidence.root of the topology and run the step again."
        )


def _newest_of(names: Iterable[str], step: str) -> str | None:
    found = re.compile(rf"\d+-{re.escape(_usable(step, 'step'))}\.(\d+)\.json")
    attempts = {int(match[1]): name for name in names if (match := found.fullmatch(name))}
    return attempts[max(attempts)] if attempts else None


def _usable(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise UnusableName(
            f"The {what} {name!r} cannot name a file: expected letters, digits and _.:+@=~-, a letter or digit first."
        )
    return name


def _create(place: Any, data: bytes) -> None:
    """Write a file that must not exist yet, down to the disk where there is one."""
    with place.open("xb") as file:
        file.write(data)
        file.flush()
        _sync(file)


def _sync(file: IO[bytes]) -> None:
    with suppress(AttributeError, ValueError, NotImplementedError):  # what an object store's file says to fileno
        os.fsync(file.fileno())


def _names(folder: StoragePath) -> set[str]:
    try:
        return {place.name for place in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _finished(place: Any) -> datetime | None:
    try:
        end = datetime.fromisoformat(json.loads(place.read_bytes())["finished_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return end if end.tzinfo else None


def _stored(folder: StoragePath) -> dict[str, bytes]:
    return {name: data for name in _names(folder) if (data := _read(folder.joinpath(name))) is not None}


def _read(place: Any) -> bytes | None:
    try:
        return bytes(place.read_bytes())
    except FileNotFoundError:
        return None
