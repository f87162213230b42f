"""Last looks, offset pairs and archived offset syncs: a file counts only if a register has its digest.

Whoever may write the evidence could make a group skip records with them, where the source cannot be read any more. The
tasks that write these files have the operator's credentials, and record the digest of each file before they write it,
in the registers' topic of digests. A file without one, as somebody else wrote it, or with another
one is as if it did not exist: then less is known, and groups begin at earlier offsets, never at later ones.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from kafka_dr import parallel
from kafka_dr.errors import KafkaDrError
from kafka_dr.register.digests import RecordedDigest, recorded
from kafka_dr.runs.clients import Clients
from kafka_dr.storage.access import Operation, StorageAccess
from kafka_dr.storage.deadline_path import DeadlinePath

#: Folders below the evidence root whose every file needs a digest.
FOLDERS = ("last_looks", "offset_pairs", "offset_syncs")
#: How many files a sentence names.
_SHOWN = 3
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnrecordedFile:
    """A file that does not count.

    :param path: below the evidence root
    :param at: when another content of it was recorded, as text; empty if none ever was
    """

    path: str
    at: str


@dataclass(slots=True)
class KnownFiles:
    """What one register knows of the files, read when it is first needed, and again before a file is refused.

    :param read: returns every digest, by path below the evidence root
    """

    read: Callable[[], Mapping[str, RecordedDigest]]
    _known: Mapping[str, RecordedDigest] | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    def has(self, path: str) -> bool:
        """Return whether a path, or one below it, is recorded."""
        return self._holds(lambda known: path in known or any(each.startswith(f"{path}/") for each in known))

    def is_recorded(self, path: str, content: bytes) -> bool:
        """Return whether a file is as it was recorded: it may have been recorded after the digests were read."""
        sha256 = hashlib.sha256(content).hexdigest()
        return self._holds(lambda known: path in known and sha256 in known[path].sha256)

    def recorded_at(self, path: str) -> str:
        """Return when a file was recorded last; empty if never."""
        known = self._known or {}
        return known[path].at if path in known else ""

    def _holds(self, good: Callable[[Mapping[str, RecordedDigest]], bool]) -> bool:
        with self._lock:
            if self._known is not None and good(self._known):
                return True
            self._known = self.read()
            return good(self._known)


@dataclass(slots=True)
class RecordedAccess:
    """Reaches a storage in which only recorded files exist, in the folders whose files need a digest.

    :param root: the evidence root, as text
    """

    root: str
    real: StorageAccess
    known: KnownFiles

    def do(
        self, operation: Operation, path: Any, *, other: Any = "", offset: int = 0, size: int = 0, data: bytes = b""
    ) -> bytes:
        """Do it; see :class:`~kafka_dr.storage.access.StorageAccess`."""
        name = str(path).removeprefix(self.root).strip("/")
        if operation in ("list", "read", "size") and name.partition("/")[0] in FOLDERS:
            if operation == "list":
                names = json.loads(self.real.do("list", path))
                return json.dumps([each for each in names if self.known.has(f"{name}/{each}")]).encode()
            content = DeadlinePath(path, self.real).read_bytes()
            if not self.known.is_recorded(name, content):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            return str(len(content)).encode() if operation == "size" else content[offset : offset + size]
        return self.real.do(operation, path, other=other, offset=offset, size=size, data=data)


def with_recorded_only(root: DeadlinePath, known: KnownFiles) -> DeadlinePath:
    """Return an evidence root in which files that are not recorded do not exist."""
    return DeadlinePath(root.path, RecordedAccess(str(root), root.access, known))


def known_files(clients: Clients, cluster: str) -> KnownFiles:
    """Return what the register of a cluster knows of the files."""
    return KnownFiles(lambda: clients.digests(cluster).read())


def unrecorded_files(root: Any, folders: Iterable[str], known: KnownFiles) -> tuple[UnrecordedFile, ...]:
    """Return the files that do not count.

    :param root: the evidence root, with all files
    :param folders: that are looked at, below the root; those whose files need no digest are left out
    :raises OSError: the storage refuses
    """
    wanted = sorted(folder for folder in folders if folder.partition("/")[0] in FOLDERS)
    paths = [path for folder in wanted for path in _files(root, folder)]
    good = parallel.ask_all(lambda path: _is_good(root, path, known), paths, at_most=8)
    return tuple(UnrecordedFile(path, known.recorded_at(path)) for path in paths if not good[path])


def said(files: Iterable[UnrecordedFile]) -> str:
    """Return a sentence that names files which do not count; empty if there are none."""
    found = list(files)
    if not found:
        return ""
    shown = [f"{each.path} ({f'recorded otherwise at {each.at}' if each.at else 'never recorded'})" for each in found]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"not used, as the register does not have their digests: {', '.join(shown[:_SHOWN])}{more}"


def recorder(clients: Clients, *, needed_on: str, also_on: Iterable[str] = ()) -> Callable[[str, str | None], None]:
    """Return what records the digest of a file by its path below the evidence root; ``None``: it is gone.

    :param needed_on: the cluster whose register has to take them: the one that a switch without the source would ask
    :param also_on: clusters whose registers get them if they answer
    """

    def record(path: str, sha256: str | None) -> None:
        def write(cluster: str) -> None:
            digests = clients.digests(cluster)
            if sha256 is None:
                digests.write(path, None)
                return
            before = digests.read().get(path)
            held = _sha256(clients.evidence_root, path) if before else ""
            digests.write(path, recorded(sha256, at=clients.clock.now(), before=before, held=held))

        answers = parallel.ask_each(write, dict.fromkeys((needed_on, *also_on)))
        for cluster, answer in answers.items():
            if isinstance(answer, KafkaDrError):
                if cluster == needed_on:
                    raise answer
                _LOG.warning("The digest of %s is not in the register of %s (%s).", path, cluster, answer)

    return record


def _is_good(root: Any, path: str, known: KnownFiles) -> bool:
    if not known.has(path):
        return False
    try:
        return known.is_recorded(path, root.joinpath(*path.split("/")).read_bytes())
    except FileNotFoundError:
        return True


def _files(root: Any, folder: str) -> Iterator[str]:
    """Yield the files in a folder and in the folders in it; what begins with a dot is being written."""
    try:
        names = sorted(path.name for path in root.joinpath(*folder.split("/")).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        path = f"{folder}/{name}"
        if name.startswith("."):
            continue
        if root.joinpath(*path.split("/")).is_dir():
            yield from _files(root, path)
        else:
            yield path


def _sha256(root: Any, path: str) -> str:
    try:
        return hashlib.sha256(root.joinpath(*path.split("/")).read_bytes()).hexdigest()
    except OSError:
        return ""
