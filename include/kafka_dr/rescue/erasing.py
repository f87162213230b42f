"""Erases the content of stranded records from the files that keep them; their offsets stay.

A file is written again as a whole, without that content, as a draft next to it. Only after a register knows what is
erased, and the digest of each draft, the drafts replace their files. So a process can die anywhere: before that,
nothing has changed; after that, the next call replaces what is left.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.audit.erasure import Erasure, files_after, key_digest
from kafka_dr.audit.stranded import StrandedFile, StrandedList
from kafka_dr.causes import cause
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import NeedsPerson
from kafka_dr.rescue.content import CONTENT, content_opener
from kafka_dr.rescue.kept import ERASED, parquet_file, sha256_of

_BATCH = 2_000
_DRAFT = ".{}.erasing"
#: What Hadoop's local file system keeps of each file: the checksums of its former content.
_HADOOP_SUMS = ".{}.crc"
_FOLDER, _STAMP = "records-", "%Y%m%dT%H%M%SZ"
_MATCHED = ("topic", "partition")
_IsWanted = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records of a list are to lose their content.

    :param topic: the only topic; all if ``None``
    :param key: every record if ``None``
    """

    topic: str | None = None
    key: bytes | None = None

    def __call__(self, topic: str, key: bytes | None) -> bool:
        """Return whether a record is one of them."""
        return self.topic in (None, topic) and (self.key is None or key == self.key)

    def key_sha256(self, left_by: str) -> str | None:
        """Return the digest of the key; ``None`` if there is no key."""
        return None if self.key is None else key_digest(left_by, self.key)


@dataclass(frozen=True, slots=True)
class Matches:
    """The records of one list that still have the content that is to be erased.

    :param records: how many, by partition
    :param files: those that hold them
    """

    records: Mapping[TopicPartition, int]
    files: tuple[StrandedFile, ...]

    @property
    def total(self) -> int:
        """How many these are."""
        return sum(self.records.values())


@dataclass(frozen=True, slots=True)
class KeptList:
    """The files of one list.

    :param folder: of the list, a path object whose every access has a deadline
    :param erasures: what was erased so far, as a register knows it
    :param keys: of the content, where the topology names any; without them only a whole list or topic can be erased
    """

    found: StrandedList
    folder: Any
    erasures: tuple[Erasure, ...] = ()
    keys: ContentKeys | None = None

    def matches(self, wanted: Wanted) -> Matches:
        """Return what there is to erase.

        :raises NeedsPerson: a file cannot be read
        """
        records: Counter[TopicPartition] = Counter()
        files = []
        for file in files_after(self.found.files, self.erasures):
            counted = self._count(file, wanted)
            if counted:
                records += counted
                files.append(file)
        return Matches(dict(sorted(records.items())), tuple(files))

    def draft(self, files: Iterable[StrandedFile], wanted: Wanted) -> tuple[StrandedFile, ...]:
        """Write files again without the content, next to the former ones, and return what they will be.

        The whole of a new file is in memory while it is written.

        :raises NeedsPerson: a file cannot be read, or is not what was kept
        """
        return tuple(self._draft(file, wanted) for file in files)

    def finish(self) -> tuple[str, ...]:
        """Replace each file whose erasure is journaled and which still has the former content; remove other drafts.

        :returns: the paths of the files that were replaced
        :raises NeedsPerson: a file is neither what it was nor what it has to be
        """
        replaced = []
        for file in files_after(self.found.files, self.erasures):
            path = self._path(file.path)
            draft = path.parent.joinpath(_DRAFT.format(path.name))
            if file not in self.found.files and sha256_of(path) != file.sha256:
                self._replace(path, draft, file)
                replaced.append(file.path)
            for left in (draft, *((self._sums(path),) if file not in self.found.files else ())):
                with suppress(FileNotFoundError):
                    left.unlink()
        return tuple(replaced)

    def former_folders(self) -> tuple[str, ...]:
        """Return the folders of earlier attempts to make this list: they may hold the same content.

        A folder that is newer than the list is not among them: it may be one that a job is writing.
        """
        own = {file.path.partition("/")[0] for file in self.found.files}
        made = min(own, default=f"{_FOLDER}{self.found.at:{_STAMP}}")
        return tuple(name for name in self._folders() if name not in own and name < made)

    def newer_folders(self) -> tuple[str, ...]:
        """Return the folders with records that no list names, and that are newer than the list."""
        own = {file.path.partition("/")[0] for file in self.found.files}
        return tuple(name for name in self._folders() if name not in own and name not in self.former_folders())

    def remove_former(self) -> None:
        """Remove the folders of earlier attempts, with everything in them."""
        for name in self.former_folders():
            self.folder.joinpath(name).rmdir(recursive=True)

    def _folders(self) -> Sequence[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name.startswith(_FOLDER))

    def _path(self, name: str) -> Any:
        return self.folder.joinpath(*name.split("/"))

    def _sums(self, path: Any) -> Any:
        return path.parent.joinpath(_HADOOP_SUMS.format(path.name))

    def _count(self, file: StrandedFile, wanted: Wanted) -> Counter[TopicPartition]:
        is_wanted = self._rows_wanted(wanted, by_key=wanted.key is not None)
        columns = _MATCHED if wanted.key is None else (*_MATCHED, "offset", "key", CONTENT)
        return Counter(
            TopicPartition(row["topic"], row["partition"])
            for row in self._rows(file.path, columns)
            if not row.get(ERASED) and is_wanted(row)
        )

    def _rows_wanted(self, wanted: Callable[[str, bytes | None], bool], *, by_key: bool) -> _IsWanted:
        """Return what says whether the content of a row is to be erased; only a wish with a key opens the content."""
        if not by_key:
            return lambda row: wanted(row["topic"], None)
        opened = content_opener(self.found, self.keys)
        return lambda row: wanted(row["topic"], opened(row)["key"])

    def _rows(self, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        path = self._path(name)
        try:
            with path.open("rb") as file:
                parquet = parquet_file(file)
                known = [each for each in (*columns, ERASED) if each in parquet.schema_arrow.names]
                for batch in parquet.iter_batches(_BATCH, columns=known, use_threads=False):
                    yield from batch.to_pylist()
        except (OSError, ValueError) as error:
            raise NeedsPerson(f"{path} cannot be read ({cause(error)}): restore it from a copy") from error

    def _draft(self, file: StrandedFile, wanted: Wanted) -> StrandedFile:
        path = self._path(file.path)
        if file.sha256 and sha256_of(path) != file.sha256:
            raise NeedsPerson(
                f"{path} does not match its recorded checksum; nothing was erased: restore it from a copy"
            )
        content = _without(path, self._rows_wanted(wanted, by_key=wanted.key is not None))
        _write(path.parent.joinpath(_DRAFT.format(path.name)), content)
        return StrandedFile(file.path, len(content), hashlib.sha256(content).hexdigest())

    def _replace(self, path: Any, draft: Any, file: StrandedFile) -> None:
        try:
            as_journaled = sha256_of(draft) == file.sha256
        except FileNotFoundError:
            as_journaled = False
        if not as_journaled:
            by_key = any(each.key_sha256 for each in self.erasures)
            content = _without(path, self._rows_wanted(self._was_erased, by_key=by_key))
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise NeedsPerson(
                    f"{path} is not what the journaled erasures make of it: restore its former version from a copy, "
                    "and erase again"
                )
            _write(draft, content)
        draft.rename(path)

    def _was_erased(self, topic: str, key: bytes | None) -> bool:
        return any(each.covers(self.found.run, topic, key) for each in self.erasures)


def made_at(folder: str) -> datetime:
    """Return when a job began to write a folder of records, by its name."""
    stamp = folder.removeprefix(_FOLDER).partition("-")[0]
    return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)


def _write(path: Any, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)


def _without(path: Any, is_wanted: _IsWanted) -> bytes:
    """Return a file without the content of some records."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    try:
        with path.open("rb") as file:
            parquet = parquet_file(file)
            schema = parquet.schema_arrow
            if ERASED not in schema.names:
                schema = schema.append(pa.field(ERASED, pa.bool_()))
            with pq.ParquetWriter(sink, schema) as writer:
                for batch in parquet.iter_batches(_BATCH, use_threads=False):
                    rows = [
                        _erased(row) if not row.get(ERASED) and is_wanted(row) else row for row in batch.to_pylist()
                    ]
                    writer.write_batch(pa.RecordBatch.from_pylist(rows, schema))
    except (OSError, ValueError) as error:
        raise NeedsPerson(f"{path} cannot be read or written again ({cause(error)}): restore it from a copy") from error
    return sink.getvalue()


def _erased(row: Mapping[str, Any]) -> dict[str, Any]:
    # A file has either of these; what its schema does not have is not written.
    return {**row, "timestamp": 0, "key": None, "value": None, "headers": None, CONTENT: None, ERASED: True}
