"""A route in one JSON file that applications read when they start; they never see half a route."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kafka_dr.causes import cause
from kafka_dr.clock import Clock, SystemClock
from kafka_dr.durations import duration
from kafka_dr.json_documents import parsed
from kafka_dr.locked_file import FileLocked, FolderNotSynced, LockedFile
from kafka_dr.routing.route import (
    SCHEMA_VERSION,
    Route,
    RouteBusy,
    RouteUncertain,
    RouteUnreadable,
    RouteUnwritable,
    must_replace,
)


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
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            return parsed(content, Route.from_part, schema=SCHEMA_VERSION)
        except ValueError as error:
            raise self._unreadable(error) from error

    def switch(self, *, expected_epoch: int | None, route: Route) -> None:
        """Store a route by compare-and-set on the epoch."""
        with self._alone():
            if must_replace(self.read(), route, expected_epoch=expected_epoch):
                self._replace(route)

    def try_out(self) -> None:
        """Find out whether the route could be switched now."""
        try:
            self._file.try_out()
        except OSError as error:
            raise self._unwritable(error) from error

    def shown_by(self) -> tuple[str, ...]:
        """Return the command that shows the owner and the mode of every folder down to the file."""
        return (f"namei -l {shlex.quote(str(self.path))}",)

    def by_hand(self, route: Route) -> tuple[str, ...]:
        """Return commands that replace the file as a whole, so that nobody reads half a route."""
        path, stored = shlex.quote(str(self.path)), shlex.quote(json.dumps(route.to_json()))
        return (f"printf '%s\\n' {stored} > {path}.new", f"chmod 644 {path}.new && mv {path}.new {path}")

    def remove(self) -> None:
        """Remove the file and its lock."""
        try:
            for path in self._files():
                path.unlink(missing_ok=True)
        except OSError as error:
            raise RouteUnwritable(f"{self.path} cannot be removed: {cause(error)}") from error

    def remains(self) -> tuple[str, ...]:
        """Return the paths of the file and its lock, if they exist."""
        return tuple(str(path) for path in self._files() if path.exists())

    def _files(self) -> tuple[Path, Path]:
        return self.path, Path(f"{self.path}.lock")

    def _unreadable(self, error: Exception) -> RouteUnreadable:
        return RouteUnreadable(
            f"The route file {self.path} cannot be understood ({cause(error)}): expected one JSON object as this tool "
            "writes it; compare it with the DR register and fix or remove it by hand."
        )

    @property
    def _file(self) -> LockedFile:
        return LockedFile(self.path, self.clock, self.lock_seconds)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with self._file.alone():
                yield
        except FileLocked:
            raise RouteBusy(
                f"The route file {self.path} was locked by another switch for {duration(self.lock_seconds)}: "
                "see which run is switching this group, then try again."
            ) from None
        except OSError as error:
            raise self._unwritable(error) from error

    def _replace(self, route: Route) -> None:
        try:
            self._file.replace(json.dumps(route.to_json(), indent=2, sort_keys=True) + "\n")
        except FolderNotSynced as error:
            raise RouteUncertain(
                f"The route file {self.path} was replaced, but its folder could not be synced ({error}): "
                "read the route, check the disk, and run the step again."
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> RouteUnwritable:
        return RouteUnwritable(
            f"The route file {self.path} cannot be written ({cause(error)}) and was left as it is: expected a folder "
            "that this process may write, on a disk with space; check both and run the step again."
        )
