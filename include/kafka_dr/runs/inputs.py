"""What a switch reads of the evidence: read before the claim, and held against its digests from then on.

Frontiers, offset pairs, offset maps, archived offset syncs and last looks are below the evidence root. The claim reads
the files of the run's two clusters and journals their digests; the files themselves as well if they are few megabytes,
else a copy stays on this machine. A step after the claim gets exactly these files: from the journal, from that copy, or
once more from the storage, compared with the digest. So neither a storage that hangs nor one that somebody writes to
changes what the run relies on. What a step writes to them is kept for the step, and stored if the storage takes it.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import logging
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from kafka_dr import parallel
from kafka_dr.codec import InForm, StoredDocument, StoredRow
from kafka_dr.errors import NeedsPerson
from kafka_dr.storage.access import Operation, StorageAccess
from kafka_dr.storage.deadline_path import DeadlinePath

#: The name of the fact.
INPUTS = "inputs"
#: The largest content that is journaled, compressed, in bytes.
_MOST_JOURNALED = 4 * 1024 * 1024
#: An object store answers slowly, and several questions at once.
_AT_ONCE = 8
_LOG = logging.getLogger(__name__)


def _packed(content: Mapping[str, bytes]) -> str:
    plain = json.dumps({path: base64.b64encode(data).decode() for path, data in content.items()})
    return base64.b64encode(zlib.compress(plain.encode())).decode()


def _unpacked(packed: str) -> dict[str, bytes]:
    plain = json.loads(zlib.decompress(base64.b64decode(packed)))
    return {path: base64.b64decode(data) for path, data in plain.items()}


_Packed: TypeAlias = Annotated[Mapping[str, bytes], InForm(str, _packed, _unpacked)]


@dataclass(frozen=True, slots=True)
class InputFile(StoredRow):
    """A file that the run relies on.

    :param path: below the evidence root, with slashes
    :param sha256: of its bytes, in hex
    """

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Inputs(StoredDocument):
    """The files that a run relies on.

    :param folders: where they are; what is in these folders and not among the files did not exist at the claim
    :param content: of the files by path; ``None`` if they are too large for the journal
    """

    folders: tuple[str, ...]
    files: tuple[InputFile, ...]
    content: _Packed | None

    def without(self, is_left_out: Callable[[str], bool]) -> Inputs:
        """Return these without some files, as if they did not exist."""
        files = tuple(each for each in self.files if not is_left_out(each.path))
        content = self.content and {each.path: self.content[each.path] for each in files}
        return Inputs(self.folders, files, content)

    @classmethod
    def of_fact(cls, fact: Mapping[str, Any]) -> Inputs:
        """Read the fact.

        :raises NeedsPerson: a file is not what its digest says
        """
        found = cls.from_part(fact)
        if found.content is not None:
            for each in found.files:
                _verified(each, found.content[each.path], "the journal")
        return found


def folders_of(group: str, clusters: Iterable[str], *, third: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the folders below the evidence root that a switch of a group between two clusters reads.

    :param clusters: the names of the two
    :param third: other clusters of which both have copies
    """
    first, second = clusters
    directions = (f"{first}-to-{second}", f"{second}-to-{first}")
    return (
        f"audits/{group}",
        *(f"audits/{group}/checksum/{direction}" for direction in directions),
        *(f"audits/{group}/checksum/{direction}/map" for direction in directions),
        f"offset_pairs/{group}",
        f"last_looks/{group}",
        *(f"offset_syncs/{direction}" for direction in directions),
        *(f"offset_syncs/{origin}-to-{each}" for origin in third for each in (first, second)),
    )


def read_inputs(root: DeadlinePath, folders: Iterable[str], *, copy: Path) -> Inputs:
    """Read every file in folders; a folder of archived syncs with the folders in it.

    :param copy: where a copy is made if they are too large for the journal
    :raises StorageSilent: the storage does not answer
    :raises OSError: the storage refuses
    """
    wanted = tuple(each for folder in folders for each in _with_archives(root, folder))
    listed = parallel.ask_all(lambda folder: _names(root, folder), wanted, at_most=_AT_ONCE)
    paths = [f"{folder}/{name}" for folder, names in listed.items() for name in names]
    read = parallel.ask_all(lambda path: _read(root, path), paths, at_most=_AT_ONCE)
    content = {path: data for path, data in read.items() if data is not None}
    files = tuple(InputFile(path, hashlib.sha256(data).hexdigest(), len(data)) for path, data in content.items())
    if len(_packed(content)) > _MOST_JOURNALED:
        _copy(content, copy)
        return Inputs(wanted, files, None)
    return Inputs(wanted, files, content)


@dataclass(slots=True)
class InputsAccess:
    """Reads the inputs of a run as they were before its claim, and everything else from the storage.

    :param root: the evidence root, as text
    :param real: reaches the storage
    :param inputs: the files
    :param copy: where this machine may have a copy of them
    """

    root: str
    real: StorageAccess
    inputs: Inputs
    copy: Path
    written: dict[str, bytes] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it; see :class:`~kafka_dr.storage.access.StorageAccess`."""
        name = self._covered(path)
        if name is None:
            return self.real.do(operation, path, other=other, offset=offset, size=size, data=data)
        if operation == "list":
            return json.dumps(sorted(self._children(name))).encode()
        if operation == "is_folder":
            return str(int(bool(self._children(name)))).encode()
        if operation in ("read", "size"):
            found = self._content(name, path)
            return str(len(found)).encode() if operation == "size" else found[offset : offset + size]
        self._remember(operation, name, other, data)
        try:
            return self.real.do(operation, path, other=other, data=data)
        except OSError as error:
            _LOG.warning("%s is not stored (%s). This run continues, the next one reads the former file.", path, error)
            return b"0"

    def _covered(self, path: Any) -> str | None:
        """Return the name of a path below the root if the run relies on it."""
        name = str(path).removeprefix(self.root).strip("/")
        folder = name.rpartition("/")[0]
        return name if name in self.inputs.folders or folder in self.inputs.folders else None

    def _remember(self, operation: Operation, name: str, other: Any, data: bytes) -> None:
        if operation in ("create", "replace"):
            self.written[name] = data
            self.removed.discard(name)
        elif operation == "rename":
            self.written[str(other).removeprefix(self.root).strip("/")] = self.written.pop(name, b"")
        elif operation == "remove":
            self.written.pop(name, None)
            self.removed.add(name)

    def _paths(self) -> set[str]:
        return ({each.path for each in self.inputs.files} | self.written.keys()) - self.removed

    def _children(self, folder: str) -> set[str]:
        below = (path.removeprefix(f"{folder}/") for path in self._paths() if path.startswith(f"{folder}/"))
        return {path.partition("/")[0] for path in below}

    def _content(self, name: str, path: Any) -> bytes:
        if name in self.written:
            return self.written[name]
        found = next((each for each in self.inputs.files if each.path == name), None)
        if found is None or name in self.removed:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if self.inputs.content is not None:
            return self.inputs.content[name]
        copied = self.copy.joinpath(*name.split("/"))
        if copied.exists() and hashlib.sha256(data := copied.read_bytes()).hexdigest() == found.sha256:
            return data
        return _verified(found, DeadlinePath(path, self.real).read_bytes(), f"{path}")


def with_inputs(root: DeadlinePath, fact: Mapping[str, Any], *, copy: Path) -> DeadlinePath:
    """Return the evidence root as a run sees it after its claim.

    :param fact: what the claim journaled
    """
    access = InputsAccess(str(root), root.access, Inputs.of_fact(fact), copy)
    return DeadlinePath(root.path, access)


def _with_archives(root: DeadlinePath, folder: str) -> Iterator[str]:
    yield folder
    if folder.startswith("offset_syncs/"):
        for name in _names(root, folder):
            if not name.startswith("."):
                yield f"{folder}/{name}"


def _names(root: DeadlinePath, folder: str) -> list[str]:
    try:
        return sorted(path.name for path in root.joinpath(*folder.split("/")).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(root: DeadlinePath, path: str) -> bytes | None:
    """Return the content of a file; ``None`` if it is a folder or is gone."""
    try:
        return root.joinpath(*path.split("/")).read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return None


def copy_folder(group: str, run: str) -> Path:
    """Return where this machine keeps a copy of the inputs of a run."""
    return Path(tempfile.gettempdir()) / f"kafka-dr-{os.getuid()}" / group / run


def _copy(content: Mapping[str, bytes], copy: Path) -> None:
    """Copy files for this user alone. A name that is taken stays as it is; its content is compared when it is read."""
    for path, data in content.items():
        target = copy.joinpath(*path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)


def _verified(file: InputFile, data: bytes, where: str) -> bytes:
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise NeedsPerson(
            f"{where} holds another {file.path} than the one that the run read before its claim (SHA-256 "
            f"{file.sha256}): restore that file from a copy, then run the step again"
        )
    return data
