"""Evidence of runs: one JSON file for each attempt of each step, written once and never changed.

``runs/<group>/<run>/<nn>-<step>.<attempt>.json`` below the root, and, once sealed, ``report.html`` and
``manifest.json`` in the same folder. A run that continues after it was sealed is sealed again under the next number;
each seal covers the ones before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.clock import Clock, SystemClock
from kafka_dr.errors import TryAgain
from kafka_dr.evidence.canonical import plain, readable, readable_plain
from kafka_dr.evidence.known_secrets import KnownSecrets, refuse_secrets
from kafka_dr.evidence.open_run_view import OpenRunLine
from kafka_dr.evidence.seal import EvidenceChanged, PreviousSeal, Seal, Verification, compare
from kafka_dr.evidence.sealed_run import SealedRun
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.evidence.step_files import StepFile, attempts_of, newest_of, usable
from kafka_dr.evidence.storage_path import StoragePath, create_file, file_names, read_folder
from kafka_dr.evidence.view_model import RunView
from kafka_dr.storage.access import StorageSilent
from kafka_dr.watch_results import RunningStep

_MOST_ATTEMPTS = 10_000


class EvidenceUnwritable(TryAgain):
    """The evidence could not be stored. A part of the file may exist; it is never read as a whole one."""


class EvidenceUnfinished(TryAgain):
    """The newest evidence of a step was cut off while it was written. An older attempt is not read instead."""


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
    """Writes, reads, seals and verifies the evidence of runs.

    :param root: a path object; only the code that makes it knows what kind of storage it is
    :param clock: the time of a seal
    :param secrets: what must not be in any evidence; the code that resolves a connection adds to it
    """

    root: StoragePath
    clock: Clock = field(default_factory=SystemClock)
    secrets: KnownSecrets = field(default_factory=KnownSecrets, repr=False, compare=False)

    def write(self, group: str, run: str, number: int, step: str, payload: Mapping[str, object]) -> EvidenceRef:
        """Store what a step saw, as its next attempt.

        :param number: the position of the step in its verb, from 1
        :param payload: what to store; ``attempt`` is filled in unless it is given
        :raises SecretInEvidence: it holds a secret; nothing was written
        :raises NotCanonical: it has no canonical form; nothing was written
        :raises EvidenceUnwritable: the storage failed
        """
        return self.write_checked(group, run, number, step, self.checked(payload))

    def write_checked(self, group: str, run: str, number: int, step: str, content: Mapping[str, Any]) -> EvidenceRef:
        """Store what :meth:`checked` returned, as :meth:`write` does."""
        folder = self._folder(group, run)
        stem = f"{number:02d}-{usable(step, 'step')}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            newest = newest_of(file_names(folder), step)
            for attempt in range(newest.attempt + 1 if newest else 1, _MOST_ATTEMPTS):
                data = readable_plain({"attempt": attempt, **content}).encode("utf-8")
                name = f"{stem}.{attempt}.json"
                with suppress(FileExistsError):
                    create_file(folder.joinpath(name), data)
                    return EvidenceRef(f"runs/{group}/{run}/{name}", hashlib.sha256(data).hexdigest(), attempt)
        except OSError as error:
            raise _unwritable(folder, error) from error
        raise EvidenceUnwritable(f"Step {step} of run {run} has {_MOST_ATTEMPTS} attempts in {folder}: end this run.")

    def checked(self, payload: Mapping[str, object]) -> dict[str, Any]:
        """Return what is to be stored as plain JSON values, if it may be stored.

        :raises SecretInEvidence: it holds a secret
        :raises NotCanonical: it has no canonical form
        """
        content: dict[str, Any] = plain(payload)  # type: ignore[assignment]
        refuse_secrets(content, self.secrets)
        return content

    def write_once(self, group: str, run: str, number: int, step: str, payload: Mapping[str, Any]) -> EvidenceRef:
        """Store what a step saw, unless its newest attempt is that already: an earlier call may have got no answer.

        :raises EvidenceUnwritable: the storage failed
        """
        folder = self._folder(group, run)
        try:
            newest = newest_of(file_names(folder), usable(step, "step"))
            data = folder.joinpath(newest.name).read_bytes() if newest is not None else b""
        except OSError as error:
            raise _unwritable(folder, error) from error
        if newest is not None and data == readable({"attempt": newest.attempt, **payload}).encode("utf-8"):
            return EvidenceRef(f"runs/{group}/{run}/{newest.name}", hashlib.sha256(data).hexdigest(), newest.attempt)
        return self.write(group, run, number, step, payload)

    def newest(self, group: str, run: str, step: str) -> dict[str, Any] | None:
        """Return what the newest attempt of a step wrote; ``None`` if the step never wrote anything.

        :raises EvidenceUnfinished: that file was cut off; an older one would only look like an answer
        """
        folder = self._folder(group, run)
        newest = newest_of(file_names(folder), usable(step, "step"))
        return None if newest is None else self._read(folder, newest)

    def attempts(self, group: str, run: str, step: str) -> Iterator[dict[str, Any]]:
        """Yield what each attempt of a step wrote, the newest first; one that was cut off is left out."""
        folder = self._folder(group, run)
        for file in attempts_of(file_names(folder), usable(step, "step")):
            with suppress(EvidenceUnfinished):
                yield self._read(folder, file)

    def _read(self, folder: StoragePath, file: StepFile) -> dict[str, Any]:
        run = folder.name
        try:
            payload = json.loads(folder.joinpath(file.name).read_bytes())
        except StorageSilent:
            raise
        except (OSError, ValueError) as error:
            raise EvidenceUnfinished(
                f"The evidence {file.name} of run {run} cannot be read ({cause(error)}): it was not written to its "
                f"end. Run {file.step} again."
            ) from error
        if not isinstance(payload, dict):
            raise EvidenceUnfinished(f"The evidence {file.name} of run {run} holds no object. Run {file.step} again.")
        return payload

    def last_step(self, group: str, run: str) -> datetime | None:
        """Return when a step of a run last left evidence; ``None`` if none did. A file that was cut off is ignored."""
        folder = self._folder(group, run)
        ends = [_finished(folder.joinpath(name)) for name in file_names(folder) if StepFile.of(name) is not None]
        return max(filter(None, ends), default=None)

    def seal(
        self,
        group: str,
        run: str,
        *,
        previous: PreviousSeal | None = None,
        key: SigningKey | None = None,
        incomplete: Sequence[str] = (),
        again: bool = False,
    ) -> Seal:
        """Write page, checksums and manifest over everything that is stored. Without new files this changes nothing.

        :param previous: the group's newest seal so far
        :param key: who signs; nobody if ``None``
        :param incomplete: the steps whose evidence is not stored
        :param again: also without new files, because another seal was first
        :raises EvidenceChanged: a file that was sealed before is not what it was
        :raises EvidenceUnwritable: the storage failed
        """
        sealed = self._sealed(group, run)
        if (newest := sealed.newest()) is not None:
            verification = self.verify(newest)
            if not verification.intact:
                raise EvidenceChanged(f"The evidence of run {run} is not sealed again: {verification}")
            if not verification.added and not again:
                return newest
        try:
            sealed.folder.mkdir(parents=True, exist_ok=True)
            return sealed.write(self.clock.now(), previous=previous, key=key, incomplete=tuple(incomplete))
        except OSError as error:
            raise _unwritable(sealed.folder, error) from error

    def newest_seal(self, group: str, run: str) -> Seal | None:
        """Return the newest seal of a run; ``None`` if it was never sealed. A seal that was cut off does not count.

        :raises EvidenceChanged: the newest whole manifest contradicts itself
        """
        return self._sealed(group, run).newest()

    def is_sealed_with(self, group: str, run: str, step: str) -> bool:
        """Return whether the newest seal of a run covers the newest attempt of a step; not if the step has none.

        :raises EvidenceChanged: the newest whole manifest contradicts itself
        """
        return self._sealed(group, run).covers(usable(step, "step"))

    def sealed_step(self, group: str, run: str, step: str) -> dict[str, Any] | None:
        """Return what the newest attempt of a step under a run's newest seal wrote; ``None`` if there is none.

        :raises EvidenceChanged: the manifest or that file is not what was sealed
        """
        return self._sealed(group, run).step(usable(step, "step"))

    def verify(self, seal: Seal) -> Verification:
        """Compare a seal with what is stored, and name every file that differs."""
        return compare(seal, read_folder(self._folder(seal.group, seal.run)))

    def page(
        self,
        group: str,
        run: str,
        *,
        running: RunningStep | None = None,
        now: datetime | None = None,
        half_moved: str = "",
        asked: OpenRunLine | None = None,
        ended: str = "",
        order: Mapping[str, Sequence[str]] | None = None,
        reload_seconds: int = 0,
        form: Callable[[str], str] = str,
    ) -> str | None:
        """Return the page of a run; ``None`` if it has no evidence. A page that no seal covers says so.

        :param running: what the run executes; ``None`` if nothing is known of that
        :param now: the time for which the page is made, UTC; needed for a run that is executed
        :param half_moved: why no program continues the run, though it holds the group; empty if that is not so
        :param asked: the line of the run, if it has asked a person
        :param ended: how the run ended, as the list of ended runs has it; empty if it is not in there
        :param order: the names of the steps of each verb, in order; empty: what comes next is not said
        :param reload_seconds: how often the page loads again by itself while the run may continue; 0: never
        :param form: returns the address at which a run of a verb is started
        :raises EvidenceChanged: a file that was sealed is not what it was
        """
        return self._sealed(group, run).page(running, now, half_moved, asked, ended, order, reload_seconds, form)

    def run_view(self, group: str, run: str) -> RunView:
        """Return what the evidence of a run says so far, sealed or not.

        :raises EvidenceChanged: a file that was sealed is not what it was
        """
        return self._sealed(group, run).view()

    def _sealed(self, group: str, run: str) -> SealedRun:
        return SealedRun(group, run, self._folder(group, run))

    def _folder(self, group: str, run: str) -> StoragePath:
        folder: StoragePath = self.root.joinpath("runs", usable(group, "group"), usable(run, "run"))
        return folder


def _unwritable(folder: StoragePath, error: OSError) -> EvidenceUnwritable:
    return EvidenceUnwritable(
        f"Evidence could not be written to {folder} ({cause(error)}): this process needs the right to write there, and "
        "space. To continue without this storage, name another evidence.root in the topology (a folder that every "
        "worker reaches is enough), and start again."
    )


def _finished(path: StoragePath) -> datetime | None:
    try:
        end = datetime.fromisoformat(json.loads(path.read_bytes())["finished_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return end if end.tzinfo else None
