"""A route in one JSON file that applications read when they start.

Readers never see half a route: a temporary file is written in the same folder, synced, and renamed to the route file.
A lock file in the same folder excludes other writers, also other processes; the kernel frees it when its holder dies.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kafka_dr.clock import Clock, SystemClock
from kafka_dr.routing.route import Route, RouteBusy, RouteUncertain, RouteUnreadable, RouteUnwritable, must_replace
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

_READABLE_BY_ALL = 0o644


@dataclass(frozen=True, slots=True)
class FileRouter:
    """A route kept in a file on a disk that every application of the group can read.

    :param path: the file; its folder is made when the first route is stored
    :param clock: what the deadline is measured with
    :param lock_seconds: how long to wait for another switch of the same route
    """

    path: Path
    clock: Clock = field(default_factory=SystemClock)
    lock_seconds: float = 5.0

    def read(self) -> Route | None:
        """Return the stored route, or None if there is no file."""
        try:
            content = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from error
        try:
            return Route.from_json(json.loads(content))
        except ValueError as error:
            raise self._unreadable(error) from error

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Store a route by compare-and-set on the epoch."""
        with self._alone():
            if must_replace(self.read(), route, expected_epoch=expected_epoch):
                self._replace(route)

    def _unreadable(self, error: Exception) -> RouteUnreadable:
        return RouteUnreadable(
            f"The route file {self.path} cannot be understood ({error}): expected one JSON object as this tool "
            "writes it; compare it with the DR register and fix or remove it by hand."
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._lock(handle)
            yield
        finally:
            os.close(handle)

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
            raise RouteBusy(
                f"The route file {self.path} was locked by another switch for {self.lock_seconds:g} s: "
                "see which run is switching this group, then try again."
            ) from None

    def _replace(self, route: Route) -> None:
        """Write a temporary file, sync, rename, sync the folder: a power cut leaves the old or the new route."""
        try:
            temporary = self._write_temporary(route)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            temporary.replace(self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise self._unwritable(error) from error
        try:
            _sync_folder(self.path.parent)
        except OSError as error:
            raise RouteUncertain(
                f"The route file {self.path} was replaced, but its folder could not be synced ({error}): "
                "read the route, check the disk, and run the step again."
            ) from error

    def _write_temporary(self, route: Route) -> Path:
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(route.to_json(), indent=2, sort_keys=True) + "\n")
                file.flush()
                os.fchmod(file.fileno(), _READABLE_BY_ALL)
                os.fsync(file.fileno())
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        return Path(name)

    def _unwritable(self, error: OSError) -> RouteUnwritable:
        return RouteUnwritable(
            f"The route file {self.path} cannot be written ({error}) and was left as it is: expected a folder that "
            "this process may write, on a disk with space; check both and run the step again."
        )


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
