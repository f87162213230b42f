"""What one conflict audit leaves for the next one: how far each log was read, and what was committed on copies.

One JSON file, replaced as a whole. It names the folder of the records that the next audit still has to meet, so what
an audit that died has left is never read. It says what was seen and permits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_dr.audit.content_keys import Encryption
from kafka_dr.codec import StoredDocument
from kafka_dr.errors import NeedsPerson
from kafka_dr.json_documents import DocumentDamaged, JsonFile

_SCHEMA_VERSION = 1
#: So many times are kept of what was committed on one copy.
_MOST_TIMES = 100


@dataclass(frozen=True, slots=True)
class ReadOrigin:
    """How far the log of one partition of an origin was read.

    :param topic_id: of its topic
    :param end: next to read
    """

    origin: str
    topic: str
    partition: int
    topic_id: str
    end: int


@dataclass(frozen=True, slots=True)
class CommittedCopy:
    """What the declared readers of one site had committed on the copy of a partition, all of them.

    :param topic: of the origin
    :param copy_id: the id of the topic that is the copy
    :param seen: when somebody looked, milliseconds since the epoch, and what was next to read of the copy; both rise
    """

    origin: str
    site: str
    topic: str
    partition: int
    copy_id: str
    seen: tuple[tuple[int, int], ...]

    def with_newer(self, newer: CommittedCopy) -> CommittedCopy:
        """Return the same with what was seen since. Who begins again has read all the same what was committed once."""
        if self.copy_id != newer.copy_id:
            return newer
        moved = [each for each in newer.seen if each[1] > self.seen[-1][1]]
        return CommittedCopy(
            self.origin, self.site, self.topic, self.partition, self.copy_id, (*self.seen, *moved)[-_MOST_TIMES:]
        )


@dataclass(frozen=True, slots=True)
class ConflictState(StoredDocument):
    """What is kept of the conflict audits of one block.

    :param sites: names and cluster ids in the declared order; if they change, the audit begins again
    :param key_form: how keys are kept: hashed, or plain; likewise
    :param horizon_ms: of records from this time on all are kept, of earlier ones the last of each key and origin
    :param kept: the folder of these records
    :param encryption: the key with which keys are hashed; ``None`` if the topology names none
    """

    sites: tuple[tuple[str, str], ...]
    key_form: str
    horizon_ms: int
    kept: str
    origins: tuple[ReadOrigin, ...]
    committed: tuple[CommittedCopy, ...] = ()
    encryption: Encryption | None = None


class ConflictStateStore:
    """Keeps the state of one block.

    :param folder: of its conflict audits, below the evidence root
    """

    def __init__(self, folder: Any) -> None:
        self._file = JsonFile.of(ConflictState, folder.joinpath("state.json"), _SCHEMA_VERSION)

    def read(self) -> ConflictState | None:
        """Return the state; ``None`` if none was kept.

        :raises NeedsPerson: the file is damaged
        """
        try:
            return self._file.read()
        except DocumentDamaged as error:
            raise NeedsPerson(
                f"{error}. Where the last conflict audit ended is not known: move the file away, and audit in full"
            ) from error

    def write(self, state: ConflictState) -> None:
        """Replace the state."""
        self._file.write(state)
