"""The list of stranded records: what the side that was left holds and what never crossed, kept outside of both sides.

``stranded/<group>/<run>/`` below the evidence root, named after the unplanned run that left them: ``summary.json``
names the folder with the records as Parquet. A list is never replaced by one that knows less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from kafka_dr.audit.whole_file import write_whole

_SCHEMA_VERSION = 2
#: Written without digests of the files, and with topics as keys; an approval of such a list is about that form.
_WITHOUT_DIGESTS = 1


class StrandedUnreadable(ValueError):
    """There is a list, and it is not what the job writes."""


@dataclass(frozen=True, slots=True)
class StrandedPartition:
    """What one partition of the old side holds that never crossed.

    :param from_offset: where comparing began on the old side; everything below was seen to have crossed, or expired
    :param crossed: next to read behind the last record that crossed
    :param end: of the old side's log: next to be written
    :param new_end: of the new side's log when nothing could be copied any more
    :param records: how many are stranded
    :param ranges: the offsets that they have, in stretches: first, and next after the last
    :param keys: how many different keys they have; records without a key count as none
    :param missing: records of the new side from before the switch that the old side no longer holds
    """

    topic: str
    partition: int
    from_offset: int
    crossed: int
    end: int
    new_end: int
    records: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    keys: int = 0
    size: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None
    missing: int = 0


@dataclass(frozen=True, slots=True)
class StrandedFile:
    """A file of records, below the list's folder.

    :param sha256: of its bytes, in hex; empty in a list of a former version
    """

    path: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class StrandedList:
    """The whole list.

    :param run: the unplanned run that left the records behind
    :param old: the cluster that holds them
    :param new: the cluster that is active since
    :param at: when the old side's ends were read, aware
    :param topic_ids: of the group's topics on the old side
    :param gone: topics of the new side that the old side no longer has
    :param compacted: topics that either side compacts
    :param schema_version: the form in which it is kept, which its digest is of
    """

    group: str
    run: str
    old: str
    new: str
    at: datetime
    cluster_ids: Mapping[str, str]
    topic_ids: Mapping[str, str]
    partitions: tuple[StrandedPartition, ...]
    files: tuple[StrandedFile, ...] = ()
    gone: tuple[str, ...] = ()
    compacted: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    schema_version: int = _SCHEMA_VERSION

    @property
    def records(self) -> int:
        """How many records are stranded."""
        return sum(each.records for each in self.partitions)

    @property
    def missing(self) -> int:
        """How many records that had crossed the old side has lost."""
        return sum(each.missing for each in self.partitions)

    @property
    def verdict(self) -> Literal["nothing", "stranded"]:
        """Whether anything is stranded."""
        return "stranded" if self.records else "nothing"

    @property
    def sentence(self) -> str:
        """The list in words."""
        lost = f"; {self.missing} records that had crossed are gone there" if self.missing else ""
        gone = f"; it no longer has {', '.join(self.gone)}" if self.gone else ""
        if not self.records:
            return f"nothing on {self.old} is stranded: all it holds is on {self.new}{lost}{gone}"
        where = [each for each in self.partitions if each.records]
        shown = ", ".join(f"{each.topic}-{each.partition} ({each.records})" for each in where[:5])
        more = f" and {len(where) - 5} more" if len(where) > 5 else ""
        return f"{self.records} records of {self.old} never crossed to {self.new}: {shown}{more}{lost}{gone}"

    def ends(self) -> dict[tuple[str, int], int]:
        """Return where the old side's logs ended, by topic and number of the partition."""
        return {(each.topic, each.partition): each.end for each in self.partitions}

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept: one of a former version as that version wrote it."""
        totals = {"verdict": self.verdict, "sentence": self.sentence, "records": self.records}
        kept = {**totals, **asdict(self), "at": self.at.astimezone(UTC).isoformat()}
        if self.schema_version == _WITHOUT_DIGESTS:
            return kept | {"files": [{"path": file.path, "size": file.size} for file in self.files]}
        ids = [{"topic": topic, "topic_id": self.topic_ids[topic]} for topic in sorted(self.topic_ids)]
        return kept | {"topic_ids": ids}

    @classmethod
    def from_json(cls, found: Any) -> StrandedList:
        """Read what :meth:`to_json` returned.

        :raises StrandedUnreadable: it is something else
        """
        try:
            if (schema := found["schema_version"]) not in (_WITHOUT_DIGESTS, _SCHEMA_VERSION):
                raise ValueError(f"its schema is {schema}, this program knows {_SCHEMA_VERSION}")
            ids = found["topic_ids"]
            if schema == _SCHEMA_VERSION:
                ids = {str(row["topic"]): str(row["topic_id"]) for row in ids}
            partitions = (
                StrandedPartition(
                    **{**row, "ranges": tuple((int(first), int(after)) for first, after in row["ranges"])}
                )
                for row in found["partitions"]
            )
            return cls(
                **{name: str(found[name]) for name in ("group", "run", "old", "new")},
                at=datetime.fromisoformat(found["at"]),
                cluster_ids=dict(found["cluster_ids"]),
                topic_ids=dict(ids),
                partitions=tuple(partitions),
                files=tuple(
                    StrandedFile(str(row["path"]), int(row["size"]), str(row.get("sha256", "")))
                    for row in found["files"]
                ),
                gone=tuple(found["gone"]),
                compacted=tuple(found["compacted"]),
                seconds=dict(found["seconds"]),
                schema_version=schema,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StrandedUnreadable(str(error)) from error


class StrandedStore:
    """Where the list of one unplanned run lies.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    """

    def __init__(self, root: Any, group: str, run: str) -> None:
        self.folder = root.joinpath("stranded", group, run)

    def read(self) -> StrandedList | None:
        """Return the list; ``None`` where there is none.

        :raises StrandedUnreadable: what is there is no list
        """
        place = self.folder.joinpath("summary.json")
        try:
            return StrandedList.from_json(json.loads(place.read_bytes()))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StrandedUnreadable(f"{place} cannot be read ({error})") from error

    def write(self, found: StrandedList) -> None:
        """Keep this list instead of what was kept before; whoever reads sees the one or the other."""
        content = json.dumps(found.to_json(), indent=1) + "\n"
        write_whole(self.folder.joinpath("summary.json"), content.encode())


def knows_less(now: StrandedList, kept: StrandedList) -> bool:
    """Return whether a list would forget records that another one keeps.

    A log that was deleted, created again or cut since holds no record of those, nor does one whose retention or
    compaction has gone on, which is no reason to forget them.
    """
    ends = now.ends()
    begins = {(each.topic, each.partition): each.from_offset for each in now.partitions}
    nothing_came = ends == kept.ends()
    return any(
        now.topic_ids.get(each.topic) != kept.topic_ids.get(each.topic)
        or ends.get((each.topic, each.partition), -1) < each.end
        or begins[each.topic, each.partition] > each.ranges[0][0]
        or (nothing_came and each.topic in kept.compacted)
        for each in kept.partitions
        if each.records
    )
