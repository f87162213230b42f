"""Runs whose evidence is older than the topology keeps it: which these are, the record of it, and the removal.

The order makes it safe to die anywhere and to run again: the sealed record, then in each run's folder the file that
names the record, then the evidence.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.approvals.signed import unreviewed
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.expired_run import (
    EXPIRED,
    RETENTION_STEP,
    ExpiredRun,
    Tombstone,
    remove_evidence,
    stays,
    tombstone_in,
)
from kafka_dr.evidence.seal import Manifest, compare_files, seal_names, seal_number
from kafka_dr.evidence.sealed_run import SealedRun
from kafka_dr.evidence.step_files import StepFile
from kafka_dr.evidence.storage_path import file_names, read_folder
from kafka_dr.retention.erasing import ERASE_STEP
from kafka_dr.retention.registers import GroupRegisters
from kafka_dr.runs import unfiled
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.sealing import newest_seal, seal_run

#: The number of the step in the evidence, which is no step of a verb.
_NUMBER = 93
#: How many runs are removed at once: a task has to end. The rest follows with the next call.
_MOST = 200
_RECORDS = {ERASE_STEP, RETENTION_STEP}


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """The runs of a group that have expired.

    :param expired: those to be removed, oldest first
    :param half_removed: those whose removal an earlier call had begun
    :param kept: a sentence for each run that is old enough, and is kept for a reason that a person should know
    :param more: how many more have expired, and follow with the next call
    """

    expired: tuple[ExpiredRun, ...] = ()
    half_removed: tuple[Tombstone, ...] = ()
    kept: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class OldRuns:
    """The runs of one protection group.

    :param registers: what they say now
    """

    clients: Clients
    group: str
    registers: GroupRegisters

    def find(self, keep: timedelta) -> FoundRuns:
        """Return what has expired; nothing is changed.

        The run that wrote the group's record, the group's newest seal, what waits for a review or to be filed, and the
        records of erasures and removals never expire.

        :raises OSError: the storage does not answer
        """
        before = self.clients.clock.now() - keep
        needed = self._needed()
        expired: list[ExpiredRun] = []
        half_removed: list[Tombstone] = []
        kept: list[str] = []
        for run in sorted(file_names(self._folder())):
            names = file_names(self._folder(run))
            if EXPIRED in names:
                half_removed += self._half_removed(run, names)
            elif run not in needed and not _RECORDS & {each.step for each in map(StepFile.of, names) if each}:
                found = self._judged(run, names, before)
                expired += [found] if isinstance(found, ExpiredRun) else []
                kept += [found] if isinstance(found, str) else []
        expired.sort(key=lambda each: each.at)
        return FoundRuns(tuple(expired[:_MOST]), tuple(half_removed), tuple(kept), max(0, len(expired) - _MOST))

    def remove(self, found: FoundRuns, rule: str) -> str:
        """Remove them, and return the run that recorded it; empty if nothing had to be recorded.

        :param rule: in words
        :raises KafkaDrError: the record could not be written and sealed; nothing was removed
        :raises OSError: the storage fails
        """
        for half in found.half_removed:
            remove_evidence(self._folder(half.run), half)
        if not found.expired:
            return ""
        at = self.clients.clock.now()
        recorder = f"retention__{at:%Y-%m-%dT%H:%M:%S%z}.{secrets.token_hex(4)}"
        # A key that cannot be used is refused before anything is written.
        _ = self.clients.signing_key
        kept = self.clients.evidence.write(self.group, recorder, _NUMBER, RETENTION_STEP, _record(found, rule, at))
        seal_run(self.clients, self.group, recorder)
        name = kept.path.rpartition("/")[2]
        for each in found.expired:
            if not each.digest:
                self._folder(each.run).rmdir(recursive=True)
                continue
            tombstone = Tombstone(self.group, each.run, each.digest, rule, at, recorder, name, kept.sha256)
            remove_evidence(self._folder(each.run), tombstone)
        return recorder

    def _needed(self) -> set[str]:
        """Return the runs that somebody still needs, however old they are."""
        histories = tuple(self.registers.histories.values())
        newest = newest_seal(histories)
        waiting = {run for found in histories for run in found if unfiled.waiting_in(self.registers.facts(run))}
        reviews = {run for found in histories for run in unreviewed(found)}
        return {self.registers.state.run, *waiting, *reviews, *([newest.run] if newest else [])}

    def _judged(self, run: str, names: set[str], before: datetime) -> ExpiredRun | str | None:
        """Return what expires; a sentence if it would, and has to be looked at first."""
        try:
            manifest = SealedRun(self.group, run, self._folder(run)).newest_manifest()
            if manifest is None:
                return self._never_sealed(run, names, before)
            if manifest.sealed_at >= before:
                return None
            if wrong := self._difference(run, manifest):
                return f"run {run} is older than that, and is kept: its evidence is not what was sealed ({wrong})"
        except KafkaDrError as error:
            return f"run {run} is kept: {error}"
        removed = sum(not stays(name) for name in names)
        return ExpiredRun(run, manifest.digest, manifest.sealed_at, removed)

    def _never_sealed(self, run: str, names: set[str], before: datetime) -> ExpiredRun | None:
        """Return a run that left no trace but its evidence: a dry run, or one that was refused before its claim."""
        if any(self.registers.facts(run)):
            return None
        last = self.clients.evidence.last_step(self.group, run)
        return None if last is None or last >= before else ExpiredRun(run, "", last, len(names))

    def _difference(self, run: str, manifest: Manifest) -> str:
        stored = read_folder(self._folder(run))
        number = max(filter(None, map(seal_number, stored)))
        found = compare_files(manifest, seal_names(number)[1], stored)
        return "" if found.intact and not found.added else str(found)

    def _half_removed(self, run: str, names: set[str]) -> Iterator[Tombstone]:
        if all(map(stays, names)):
            return
        with suppress(ValueError):
            tombstone = tombstone_in({EXPIRED: self._folder(run).joinpath(EXPIRED).read_bytes()})
            if tombstone is not None and tombstone.run == run:
                yield tombstone

    def _folder(self, *run: str) -> Any:
        return self.clients.evidence_root.joinpath("runs", self.group, *run)


def _record(found: FoundRuns, rule: str, at: datetime) -> dict[str, Any]:
    said = f"the evidence of {counted(len(found.expired), 'run')} was removed by the rule {rule}; their seals "
    facts = {"rule": rule, "runs": [each.to_json() for each in found.expired]}
    ended = at.isoformat()
    return {"outcome": "done", "started_at": ended, "finished_at": ended, "detail": said + "stay", "facts": facts}


def in_words(expired: Sequence[ExpiredRun], most: int = 10) -> str:
    """Return the runs as a list for people."""
    more = f" and {len(expired) - most} more" if len(expired) > most else ""
    return ", ".join(f"{each.run} (of {each.at:%Y-%m-%d})" for each in expired[:most]) + more
