"""The seals of one run: each one writes a page and a manifest, and covers everything that was kept before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.evidence.canonical import readable
from kafka_dr.evidence.expired_run import EXPIRED, EvidenceExpired, tombstone_in
from kafka_dr.evidence.open_run_view import OpenRunLine
from kafka_dr.evidence.page import render_page
from kafka_dr.evidence.run_view import (
    build_run_view,
    may_continue,
    with_ending,
    with_expired_question,
    with_half_moved,
    with_next,
    with_question,
    with_running,
)
from kafka_dr.evidence.seal import (
    INCOMPLETE_VERSION,
    SCHEMA_VERSION,
    EvidenceChanged,
    FileDigest,
    Manifest,
    PreviousSeal,
    Seal,
    Verification,
    compare,
    proof_names,
    seal_names,
    seal_number,
    sums_of,
)
from kafka_dr.evidence.signing import SigningKey, fingerprint
from kafka_dr.evidence.step_files import newest_of
from kafka_dr.evidence.storage_path import StoragePath, create_file, file_names, read_file, read_folder
from kafka_dr.evidence.view_model import RunView
from kafka_dr.watch_results import RunningStep


@dataclass(frozen=True, slots=True)
class SealedRun:
    """The folder of a run, as its seals see it. A run that was never sealed has none.

    :param folder: of the run
    """

    group: str
    run: str
    folder: StoragePath

    def newest(self) -> Seal | None:
        """Return the newest seal; ``None`` if there is none. A manifest that was cut off does not count.

        :raises EvidenceChanged: the newest whole manifest contradicts itself
        """
        number, manifest = self._newest_manifest()
        return None if manifest is None else self._seal(number, manifest)

    def newest_manifest(self) -> Manifest | None:
        """Return what the newest seal covers; ``None`` if there is none.

        :raises EvidenceChanged: the newest whole manifest contradicts itself
        """
        return self._newest_manifest()[1]

    def covers(self, step: str) -> bool:
        """Return whether the newest seal covers the newest attempt of a step; not if the step has none.

        :raises EvidenceChanged: the newest whole manifest contradicts itself
        """
        _, manifest = self._newest_manifest()
        newest = newest_of(file_names(self.folder), step)
        return manifest is not None and newest is not None and newest.name in {file.name for file in manifest.files}

    def step(self, step: str) -> dict[str, Any] | None:
        """Return what the newest attempt of a step wrote that the newest seal covers; ``None`` if there is none.

        Two files are read, however much evidence the run has. Evidence that a rule removed is none.

        :raises EvidenceChanged: the manifest or that file is not what was sealed
        """
        _, manifest = self._newest_manifest()
        sealed = {file.name: file for file in manifest.files} if manifest is not None else {}
        newest = newest_of(sealed, step)
        if newest is None:
            return None
        data = read_file(self.folder.joinpath(newest.name))
        if data is None and EXPIRED in file_names(self.folder):
            return None
        if data is None or FileDigest.of(newest.name, data) != sealed[newest.name]:
            raise EvidenceChanged(
                f"The evidence {newest.name} of run {self.run} is not what was sealed: restore it from a copy."
            )
        payload = json.loads(data)
        return payload if isinstance(payload, dict) else None

    def view(self) -> RunView:
        """Return what the evidence says so far, sealed or not.

        :raises EvidenceChanged: a file that was sealed is not what it was
        :raises EvidenceExpired: it was removed by a rule of the topology
        """
        stored = read_folder(self.folder)
        self._require_kept(stored)
        self._intact(stored)
        return build_run_view(self.group, self.run, stored)

    def page(
        self,
        running: RunningStep | None = None,
        now: datetime | None = None,
        half_moved: str = "",
        asked: OpenRunLine | None = None,
        ended: str = "",
        order: Mapping[str, Sequence[str]] | None = None,
        reload_seconds: int = 0,
        form: Callable[[str], str] = str,
    ) -> str | None:
        """Return the page of the run; ``None`` if nothing is stored, and nothing of the run is executed.

        That is the sealed page, or, where the newest seal does not cover everything, one of what is kept so far, with
        what is executed now.

        :raises EvidenceChanged: a file that was sealed is not what it was
        :raises EvidenceExpired: it was removed by a rule of the topology
        """
        stored = read_folder(self.folder)
        if not stored and (running is None or now is None):
            return None
        self._require_kept(stored)
        seal, verification = self._intact(stored)
        if seal is not None and not verification.added:
            return stored[seal.page].decode("utf-8")
        files = (FileDigest.of(name, data) for name, data in sorted(stored.items()))
        view = build_run_view(self.group, self.run, stored)
        if asked is not None and asked.waiting:
            view = with_question(view, asked)
        elif running is not None and now is not None:
            view = with_running(view, running, now)
        elif ended:
            view = with_ending(view, ended)
        is_open = now is not None and not ended and (running is not None or may_continue(view, now))
        is_between = running is None or (running.ended_at is not None and running.good)
        if now is not None and is_between and (asked is None or not asked.is_answered):
            view = with_expired_question(view, now, form)
        if now is not None and is_open and is_between and (asked is None or asked.is_answered):
            view = with_next(view, order or {}, now)
        if half_moved:
            view = with_half_moved(view, half_moved)
        return render_page(view, files=files, sealed_at=None, reload_seconds=reload_seconds if is_open else 0)

    def write(
        self,
        sealed_at: datetime,
        *,
        previous: PreviousSeal | None,
        key: SigningKey | None,
        incomplete: tuple[str, ...] = (),
    ) -> Seal:
        """Write a page, checksums and a manifest over everything that is stored; with a key, a signature, too.

        :param sealed_at: aware
        :param previous: the group's newest seal so far
        :param key: who signs; nobody if ``None``
        :param incomplete: the steps whose evidence is not stored
        :raises OSError: the storage fails
        """
        stored = {name: self.folder.joinpath(name).read_bytes() for name in file_names(self.folder)}
        number = 1
        while stored.keys() & {*seal_names(number), *proof_names(number)}:
            number += 1
        (page, manifest), proofs = seal_names(number), proof_names(number)
        evidence = tuple(FileDigest.of(name, data) for name, data in sorted(stored.items()))
        view = build_run_view(self.group, self.run, stored)
        if incomplete:
            said = f"Incomplete: the evidence of {', '.join(incomplete)} is not in this seal. The registers keep it."
            view = replace(view, notes=(said, *view.notes))
        html = render_page(view, files=evidence, sealed_at=sealed_at).encode("utf-8")
        files = tuple(sorted((*evidence, FileDigest.of(page, html))))
        signer = fingerprint(key.public_pem) if key is not None else None
        version = INCOMPLETE_VERSION if incomplete else SCHEMA_VERSION
        sealed = Manifest(self.group, self.run, sealed_at, files, previous, signer, version, incomplete)
        written = readable(sealed.to_json()).encode("utf-8")
        sums = sums_of((*files, FileDigest.of(manifest, written))).encode("utf-8")
        create_file(self.folder.joinpath(page), html)
        create_file(self.folder.joinpath(proofs.sums), sums)
        if key is not None:
            create_file(self.folder.joinpath(proofs.signature), key.sign(sums))
            create_file(self.folder.joinpath(proofs.public_key), key.public_pem.encode("ascii"))
        # The manifest is the last file: without it there is no seal, whatever else was written.
        create_file(self.folder.joinpath(manifest), written)
        return self._seal(number, sealed)

    def _require_kept(self, stored: dict[str, bytes]) -> None:
        try:
            tombstone = tombstone_in(stored)
        except ValueError as error:
            raise EvidenceChanged(f"{EXPIRED} of run {self.run} cannot be read: {cause(error)}") from error
        if tombstone is not None:
            raise EvidenceExpired(f"Run {self.run} of {self.group}: {tombstone.sentence}.")

    def _seal(self, number: int, manifest: Manifest) -> Seal:
        page, name = seal_names(number)
        return Seal(self.group, self.run, f"runs/{self.group}/{self.run}", page, name, manifest.digest)

    def _newest_manifest(self) -> tuple[int, Manifest | None]:
        """Return the newest manifest that is whole, and its number."""
        for number in sorted(filter(None, map(seal_number, file_names(self.folder))), reverse=True):
            path = self.folder.joinpath(seal_names(number)[1])
            try:
                stored = json.loads(path.read_bytes())
            except ValueError:
                continue
            try:
                return number, Manifest.from_json(stored)
            except ValueError as error:
                raise EvidenceChanged(
                    f"The manifest {path} is not what was written ({cause(error)}): the evidence of run "
                    f"{self.run} proves nothing until it is restored from a copy."
                ) from error
        return 0, None

    def _intact(self, stored: dict[str, bytes]) -> tuple[Seal | None, Verification]:
        """Return the newest seal and what was added since; refuse what is not as it was sealed."""
        seal = self.newest() if stored else None
        if seal is None:
            return None, Verification((), (), ())
        verification = compare(seal, stored)
        if not verification.intact:
            raise EvidenceChanged(
                f"The evidence of run {self.run} is not what was sealed: {verification} Restore it from a copy."
            )
        return seal, verification
