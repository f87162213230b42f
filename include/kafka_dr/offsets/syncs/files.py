"""The archive of offset syncs: small Parquet files under the evidence root, each named after the offsets that it holds.

::

    offset_syncs/<source>-to-<target>/<id of the topic of syncs>/<first>-<end>.<digest>.parquet

The names are the state: the files of one topic follow each other without a gap, and a name appears only when its file
is complete. So there is no other state to keep consistent, a writer that dies leaves nothing that is ever read, and a
file that is gone shows as a hole. Many small files are joined into one from time to time; until the old ones are
removed, both say the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.json_documents import Recorder, not_recorded, write_whole
from kafka_dr.offsets.syncs.history import ArchivedSync, ArchivedSyncs, since
from kafka_dr.positions import TopicPartition

_NAME = re.compile(r"(\d{19})-(\d{19})\.([0-9a-f]{16})\.parquet")
#: Small files of one topic of syncs; when there are more, they are joined.
_MOST_FILES = 48


@dataclass(frozen=True, slots=True)
class SyncRow:
    """One offset sync on its way into the archive.

    :param topic_ids: of its topic on the source and on the target when it was archived; empty where unknown
    """

    partition: TopicPartition
    sync: ArchivedSync
    topic_ids: tuple[str, str]


@dataclass(slots=True)
class _Generation:
    """The files of one topic of syncs, read."""

    tables: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    reached: int | None = None
    after_hole: int = 0


class SyncArchive:
    """Keeps the offset syncs of one direction between two clusters.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    :param source: the cluster's name
    :param target: the cluster's name
    :param cluster_ids: of source and target; files of other clusters are not read
    :param record: records the digest of each file before it is written, and when it is gone
    """

    def __init__(
        self,
        root: Any,
        *,
        source: str,
        target: str,
        cluster_ids: tuple[str, str],
        record: Recorder = not_recorded,
    ) -> None:
        self.source = source
        self.target = target
        self._record = record
        self._folder = root.joinpath("offset_syncs", f"{source}-to-{target}")
        self._clusters = "/".join(cluster_ids).encode()

    def reached(self, sync_topic_id: str) -> int:
        """Return what is archived of a topic of syncs: the next offset to read there.

        If the newest file is damaged, its syncs are read again from the topic, as long as it still holds them.
        """
        files = self._files(sync_topic_id)
        end = max((end for _, end, _ in files), default=0)
        newest = [(first, name) for first, last, name in files if last == end]
        whole = any(self._is_whole(sync_topic_id, name) for _, name in newest)
        return end if whole or not newest else min(first for first, _ in newest)

    def extend(self, sync_topic_id: str, rows: Sequence[SyncRow], *, first: int, end: int) -> None:
        """Keep what was read of a topic of syncs.

        :param first: the first offset that was asked for
        :param end: next to read
        """
        if end <= first:
            return
        self._write(sync_topic_id, first, end, _tables().from_rows(rows))
        files = self._files(sync_topic_id)
        if len(files) > _MOST_FILES:
            self._join(sync_topic_id, files)

    def read(
        self,
        topics: Collection[str],
        *,
        topic_ids: Mapping[str, tuple[str, str]] | None = None,
        sync_topic_id: str | None = None,
    ) -> ArchivedSyncs:
        """Return what is known about topics.

        :param topic_ids: what they are now, on source and target; syncs of topics with other ids are left out, an
            empty id is not compared
        :param sync_topic_id: the topic of syncs that counts now
        """
        read = {name: self._generation(name, topics) for name in self._generations()}
        ordered = sorted(read.items(), key=lambda item: _tables().earliest(item[1].tables))
        syncs: dict[TopicPartition, list[ArchivedSync]] = {}
        strangers: dict[str, int] = {}
        bases: dict[str, int] = {}
        base = hole = 0
        for name, generation in ordered:
            bases[name] = base
            hole = max(hole, base + generation.after_hole if generation.after_hole else 0)
            for table in generation.tables:
                _collect(table, topic_ids or {}, base, syncs, strangers)
            base += (generation.reached or 0) + 1
        known = {p: since(found, hole) for p, found in syncs.items()}
        current = sync_topic_id or (ordered[-1][0] if ordered else "")
        reached = read[current].reached if current in read else None
        problems = [problem for _, generation in ordered for problem in generation.problems]
        problems += [f"{count} syncs are of another {name}, which was made again" for name, count in strangers.items()]
        return ArchivedSyncs(known, syncs, tuple(problems), reached, hole, bases.get(current, base))

    def _generation(self, sync_topic_id: str, topics: Collection[str], *, again: bool = True) -> _Generation:
        """Read the files of one topic of syncs.

        :param again: if they were joined meanwhile, list them again, once
        """
        found = _Generation()
        reached = 0
        for first, end, name in self._files(sync_topic_id):
            if end <= reached:
                continue
            if first > reached and found.reached is not None:
                found.problems.append(f"{self._folder.name}: nothing is kept of the syncs {reached} to {first}")
                found.after_hole = first
            try:
                found.tables.append(self._table(sync_topic_id, name, topics))
            except (OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError) and again:
                    return self._generation(sync_topic_id, topics, again=False)
                said = cause(error)
                found.problems.append(f"{self._folder.name}: {name} is damaged ({said})")
                continue
            found.reached = reached = end
        return found

    def _table(self, sync_topic_id: str, name: str, topics: Collection[str] | None) -> Any:
        content = self._folder.joinpath(sync_topic_id, name).read_bytes()
        if _digest(content) not in name:
            raise ValueError("it is not what was written")
        return _tables().decoded(content, clusters=self._clusters, topics=topics)

    def _is_whole(self, sync_topic_id: str, name: str) -> bool:
        try:
            self._table(sync_topic_id, name, ())
        except (OSError, ValueError):
            return False
        return True

    def _join(self, sync_topic_id: str, files: Sequence[tuple[int, int, str]]) -> None:
        """Join files that follow each other and can be read; damaged ones stay, so that a person can look at them."""
        together: list[tuple[int, int, str]] = []
        tables: list[Any] = []
        for first, end, name in files:
            if together and first != together[-1][1]:
                break
            try:
                tables.append(self._table(sync_topic_id, name, None))
            except (OSError, ValueError):
                break
            together.append((first, end, name))
        if len(together) < 2:
            return
        self._write(sync_topic_id, together[0][0], together[-1][1], _tables().together(tables))
        for _, _, name in together:
            self._folder.joinpath(sync_topic_id, name).unlink()
            self._record(self._path(sync_topic_id, name), None)

    def _write(self, sync_topic_id: str, first: int, end: int, table: Any) -> None:
        folder = self._folder.joinpath(sync_topic_id)
        content = _tables().encoded(table, clusters=self._clusters)
        name = f"{first:019d}-{end:019d}.{_digest(content)}.parquet"
        self._record(self._path(sync_topic_id, name), hashlib.sha256(content).hexdigest())
        write_whole(folder.joinpath(name), content)

    def _path(self, sync_topic_id: str, name: str) -> str:
        return f"offset_syncs/{self._folder.name}/{sync_topic_id}/{name}"

    def _generations(self) -> list[str]:
        return [name for name in _names(self._folder) if not name.startswith(".")]

    def _files(self, sync_topic_id: str) -> list[tuple[int, int, str]]:
        """Return first, end and name of each file, the longer one first where two begin at the same offset."""
        names = _names(self._folder.joinpath(sync_topic_id))
        found = [(int(m[1]), int(m[2]), name) for name in names if (m := _NAME.fullmatch(name))]
        return sorted(found, key=lambda file: (file[0], -file[1]))


def _tables() -> Any:
    """Load Arrow only if there is something to read or to write: importing it takes half a second in each step."""
    from kafka_dr.offsets.syncs import parquet as sync_tables

    return sync_tables


def _collect(
    table: Any,
    topic_ids: Mapping[str, tuple[str, str]],
    base: int,
    syncs: dict[TopicPartition, list[ArchivedSync]],
    strangers: dict[str, int],
) -> None:
    for at, topic, number, source, target, synced_ms, *ids in _tables().rows_of(table):
        now = topic_ids.get(topic, ("", ""))
        if any(a and b and a != b for a, b in zip(ids, now, strict=True)):
            strangers[topic] = strangers.get(topic, 0) + 1
            continue
        found = syncs.setdefault(TopicPartition(topic, number), [])
        if not found or base + at > found[-1].at:
            found.append(ArchivedSync(base + at, source, target, synced_ms))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _names(folder: Any) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
