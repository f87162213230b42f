"""What a checksum audit leaves for others to rely on: the verified frontier and the offset map, and their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class InputKind(StrEnum):
    """What is recorded, for each direction of a group."""

    FRONTIER = "frontier"
    OFFSET_MAP = "offset map"


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """A frontier, or an offset map with the state of the audits that names its parts.

    :param direction: ``SOURCE-to-TARGET``
    """

    kind: InputKind
    group: str
    direction: str

    @property
    def fact(self) -> str:
        """The name of the fact that holds its digests."""
        return f"{self.kind.value.replace(' ', '_')}.{self.direction}"

    @property
    def file(self) -> str:
        """The file without which it does not exist, below the evidence root."""
        if self.kind is InputKind.FRONTIER:
            return f"audits/{self.group}/frontier-{self.direction}.json"
        return f"audits/{self.group}/checksum/{self.direction}/state.json"

    @property
    def folder(self) -> str:
        """The folder with its other files; empty if it is one file."""
        return "" if self.kind is InputKind.FRONTIER else f"audits/{self.group}/checksum/{self.direction}/map"

    def covers(self, path: str) -> bool:
        """Return whether a path below the evidence root is a part of it."""
        return path == self.file or bool(self.folder and (path == self.folder or path.startswith(f"{self.folder}/")))

    def sha256(self, root: Any) -> str:
        """Return the digest of what the files hold now; empty if it does not exist.

        :raises OSError: the storage refuses
        """
        found = _content(root, self.file)
        if found is None:
            return ""
        if not self.folder:
            return hashlib.sha256(found).hexdigest()
        digests = {self.file: hashlib.sha256(found).hexdigest()}
        for name in _names(root, self.folder):
            part = _content(root, f"{self.folder}/{name}")
            if part is not None:
                digests[name] = hashlib.sha256(part).hexdigest()
        return hashlib.sha256("\n".join(f"{digests[name]} {name}" for name in sorted(digests)).encode()).hexdigest()

    def remove(self, root: Any) -> None:
        """Remove its files: first those that another state could still name.

        :raises OSError: the storage refuses
        """
        for path in (*(f"{self.folder}/{name}" for name in _names(root, self.folder)), self.file):
            with suppress(FileNotFoundError):
                root.joinpath(*path.split("/")).unlink()


def inputs_of(group: str, directions: Iterable[str]) -> tuple[RecordedInput, ...]:
    """Return everything that is recorded of a group.

    :param directions: each ``SOURCE-to-TARGET``
    """
    return tuple(RecordedInput(kind, group, direction) for direction in directions for kind in InputKind)


def _content(root: Any, path: str) -> bytes | None:
    try:
        return bytes(root.joinpath(*path.split("/")).read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        return None


def _names(root: Any, folder: str) -> list[str]:
    if not folder:
        return []
    try:
        names = [path.name for path in root.joinpath(*folder.split("/")).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    # What begins with a dot is being written.
    return sorted(name for name in names if not name.startswith("."))
