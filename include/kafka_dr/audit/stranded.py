"""The list of stranded records: what the old cluster holds and was never copied to the active one.

Of several standbys another one may hold some of them, too, and is no copy, either. They are not on the list then: they
stay there, and are listed when that one is to become a copy again.

It is kept outside of all clusters, in ``stranded/<group>/<run>/`` below the evidence root, where the run is the
unplanned failover that left the records, with the old cluster's name after it if that was not active before it.
``summary.json`` names the folder with the records as Parquet. A list is never replaced by one that knows less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final, Literal

from kafka_dr.audit.content_keys import Encryption
from kafka_dr.codec import StoredDocument, TopicIds, stored
from kafka_dr.json_documents import DocumentDamaged, parsed, write_whole

_SCHEMA_VERSION: Final = 3
#: Of a list whose content is encrypted.
ENCRYPTED_VERSION: Final = 4


class StrandedUnreadable(ValueError):
    """The list exists, and it is not what the job writes."""


@dataclass(frozen=True, slots=True)
class StrandedPartition:
    """What one partition of the old cluster holds that was never copied.

    :param from_offset: where comparing began on the old cluster; everything below was copied, or has expired
    :param copied_until: next to read after the last record that was copied
    :param end: of the old cluster's log: next to be written
    :param new_end: of the active cluster's log when nothing could be copied any more
    :param records: how many are stranded
    :param ranges: their offsets: the first, and next after the last
    :param keys: how many different keys they have; records without a key do not count
    :param missing: records of the active cluster from before the failover that the old cluster no longer holds
    :param expired: offsets after those known to be copied that the old cluster had deleted before it was listed
    :param written_since: how many of the records have a key that was written on the active cluster since, to any
        partition of the applications' own topic there; ``None`` where a copy has the name of its original
    :param outdated: how many are older than what the topic's copy keeps, and would be deleted there; see
        ``written_since``
    """

    topic: str
    partition: int
    from_offset: int
    copied_until: int
    end: int
    new_end: int
    records: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    keys: int = 0
    size: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None
    missing: int = 0
    expired: int = field(default=0, metadata=stored(omitted=True))
    written_since: int | None = field(default=None, metadata=stored(omitted=True))
    outdated: int | None = field(default=None, metadata=stored(omitted=True))


@dataclass(frozen=True, slots=True)
class HeldElsewhere:
    """Records that the active cluster lacks, and that another standby holds, too.

    :param records: how many; they are on no list before that standby is to become a copy again
    :param topic_ids: of the group's topics there: a topic that was created again since holds none of them
    """

    cluster: str
    records: int
    topic_ids: TopicIds


@dataclass(frozen=True, slots=True)
class StrandedFile:
    """A file of records, below the list's folder.

    :param sha256: of its bytes, in hex
    """

    path: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class StrandedList(StoredDocument):
    """The whole list.

    :param run: the unplanned failover that left the records; see the folder
    :param old: the cluster that holds them
    :param new: the cluster that has been active since
    :param at: when the ends of the old cluster's logs were read, aware
    :param topic_ids: of the group's topics on the old cluster
    :param gone: topics of the active cluster that the old cluster no longer has
    :param compacted: topics that either cluster compacts
    :param encryption: how the content of the records is encrypted; ``None`` if it is not
    :param elsewhere: what other standbys hold, too, and is not on the list for that reason
    :param schema_version: the form in which the list is written; its digest depends on it
    """

    derived: ClassVar[tuple[str, ...]] = ("verdict", "sentence", "records")

    group: str
    run: str
    old: str
    new: str
    at: datetime
    cluster_ids: Mapping[str, str]
    topic_ids: TopicIds
    partitions: tuple[StrandedPartition, ...]
    files: tuple[StrandedFile, ...] = ()
    gone: tuple[str, ...] = ()
    compacted: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    schema_version: Literal[3, 4] = _SCHEMA_VERSION
    encryption: Encryption | None = field(default=None, metadata=stored(omitted=True))
    elsewhere: tuple[HeldElsewhere, ...] = field(default=(), metadata=stored(omitted=True))

    def __post_init__(self) -> None:
        """Refuse a list that does not say how its content is encrypted.

        :raises ValueError: it is one
        """
        if (self.schema_version == ENCRYPTED_VERSION) != (self.encryption is not None):
            raise ValueError(f"a list of the schema {self.schema_version} says otherwise how its content is encrypted")

    @property
    def records(self) -> int:
        """How many records are stranded."""
        return sum(each.records for each in self.partitions)

    @property
    def missing(self) -> int:
        """How many copied records the old cluster no longer holds."""
        return sum(each.missing for each in self.partitions)

    @property
    def expired(self) -> int:
        """How many offsets had been deleted before they were listed, and are not known to be copied."""
        return sum(each.expired for each in self.partitions)

    @property
    def verdict(self) -> Literal["nothing", "stranded"]:
        """Whether anything is stranded."""
        return "stranded" if self.records else "nothing"

    @property
    def sentence(self) -> str:
        """The list in words."""
        lost = f"; {self.missing} records that had been copied are gone on {self.old}" if self.missing else ""
        gone = f"; it no longer has {', '.join(self.gone)}" if self.gone else ""
        gone += "".join(f"; {each.records} more are on {each.cluster}, too, and stay there" for each in self.elsewhere)
        if self.expired:
            gone += f"; {self.expired} offsets had expired there, and it is not known whether their records were copied"
        if not self.records:
            all_of_it = "all" if not self.elsewhere else "all but these"
            return f"nothing on {self.old} is stranded: {all_of_it} it holds is on {self.new}{lost}{gone}"
        where = [each for each in self.partitions if each.records]
        shown = ", ".join(f"{each.topic}-{each.partition} ({each.records})" for each in where[:5])
        more = f" and {len(where) - 5} more" if len(where) > 5 else ""
        since = "".join(f"; {said}" for said in self.of_arriving_late())
        return f"{self.records} records of {self.old} were never copied to {self.new}: {shown}{more}{since}{lost}{gone}"

    def of_arriving_late(self) -> tuple[str, ...]:
        """Return what to know before these records arrive in copies of their own, as clauses; empty where they cannot.

        *Since* is since the failover, and as far as the active cluster still has it.
        """
        found = [each for each in self.partitions if each.written_since is not None]
        if not found:
            return ()
        written, outdated = sum(each.written_since or 0 for each in found), sum(each.outdated or 0 for each in found)
        keyed = (
            f"{written} of them have keys that were"
            if written > 1
            else f"{written or 'none'} of them has a key that was"
        )
        said = f"{keyed} written on {self.new} since"
        if not outdated:
            return (said,)
        old = f"{outdated} of them {'are' if outdated > 1 else 'is'} older"
        deleted = f"{old} than what their copies on {self.new} keep, and would be deleted there"
        return said, f"{deleted}: a failback holds these topics unless its form says deliver"

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the ends of the old cluster's logs, by topic and number of the partition."""
        return {(each.topic, each.partition): each.end for each in self.partitions}


class StrandedStore:
    """Keeps the list of one unplanned failover.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    """

    def __init__(self, root: Any, group: str, run: str) -> None:
        self.folder = root.joinpath("stranded", group, run)

    def read(self) -> StrandedList | None:
        """Return the list; ``None`` if none was made.

        :raises StrandedUnreadable: the file is damaged, or is not a list
        """
        path = self.folder.joinpath("summary.json")
        try:
            return parsed(path.read_bytes(), StrandedList.from_json)
        except FileNotFoundError:
            return None
        except DocumentDamaged as error:
            raise StrandedUnreadable(f"{path} cannot be read ({error})") from error

    def write(self, found: StrandedList) -> None:
        """Replace the list."""
        content = json.dumps(found.to_json(), indent=1) + "\n"
        write_whole(self.folder.joinpath("summary.json"), content.encode())


def knows_less(now: StrandedList, kept: StrandedList) -> bool:
    """Return whether a list would forget records that another one keeps.

    A log that was deleted, created again or truncated since no longer has those records; a log whose retention or
    compaction has continued may no longer have them, either. Neither is a reason to forget them.
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
