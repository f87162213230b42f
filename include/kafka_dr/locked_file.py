"""A file that several processes change: one at a time, and readers never see half of it.

A lock file in the same folder excludes other processes of this project; the kernel frees it when its holder dies. A
temporary file is written in the same folder, synced, and renamed.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kafka_dr.causes import cause
from kafka_dr.clock import Clock, SystemClock
from kafka_dr.durations import duration
from kafka_dr.errors import TryAgain
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

_READABLE_BY_ALL = 0o644


class FileLocked(TryAgain):
    """Another process held the lock until the deadline."""


class FolderNotSynced(OSError):
    """The file was replaced, and may be the old one again after a power cut."""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file on a disk that its readers share.

    :param path: the file; its folder is made when it is first locked
    :param lock_seconds: how long to wait for another process
    """

    path: Path
    clock: Clock = field(default_factory=SystemClock)
    lock_seconds: float = 5.0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock.

        :raises FileLocked: another process held it until the deadline
        :raises OSError: the folder cannot be written
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock(handle)
            yield
        finally:
            os.close(handle)

    def try_out(self) -> None:
        """Find out whether the file could be locked and replaced. Nothing stays of the trial.

        :raises OSError: it could not
        """
        # Its folder is made when the file is first locked.
        folder = next(each for each in self.path.absolute().parents if each.exists())
        with tempfile.NamedTemporaryFile(prefix=f".{self.path.name}.", dir=folder) as trial:
            fcntl.flock(trial, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fsync(trial.fileno())
        with suppress(FileNotFoundError):
            os.close(os.open(f"{self.path}.lock", os.O_RDWR | os.O_CLOEXEC))

    def replace(self, text: str) -> None:
        """Write a temporary file, sync, rename, sync the folder: a power cut leaves the old or the new file.

        :raises FolderNotSynced: the file was replaced, and its folder could not be synced
        :raises OSError: the file was left as it is
        """
        self._put(self._write_temporary(text))

    def replace_unchanged(self, text: str, *, was: bytes) -> bool:
        """Replace the file like :meth:`replace` if it still holds what was read; return whether it was replaced.

        Editors of people do not take the lock. So what takes time is done before the file is looked at again; a write
        that comes between that look and the rename, which follow each other at once, would be lost.

        :param was: what was read; empty if there was no file
        :raises FolderNotSynced: the file was replaced, and its folder could not be synced
        :raises OSError: the file was left as it is
        """
        temporary = self._write_temporary(text)
        try:
            unchanged = self._content() == was
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        if not unchanged:
            temporary.unlink(missing_ok=True)
            return False
        self._put(temporary)
        return True

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def _put(self, temporary: Path) -> None:
        try:
            temporary.replace(self.path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        try:
            _sync_folder(self.path.parent)
        except OSError as error:
            raise FolderNotSynced(cause(error)) from error

    def _lock(self, handle: int) -> None:
        try:
            wait_until(
                lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB),
                lambda _: True,
                clock=self.clock,
                seconds=self.lock_seconds,
                pause_seconds=SHORT_PAUSE_SECONDS,
                retry=BlockingIOError,
            )
        except BlockingIOError:
            raise FileLocked(f"{self.path} was locked by another process for {duration(self.lock_seconds)}") from None

    def _write_temporary(self, text: str) -> Path:
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fchmod(file.fileno(), _READABLE_BY_ALL)
                os.fsync(file.fileno())
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        return Path(name)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
