"""Keeps how far each partition is verified: one small JSON file for each direction, below the evidence root."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.codec import StoredDocument, StoredRow, stored
from kafka_dr.json_documents import DocumentDamaged, JsonFile

_SCHEMA_VERSION = 1
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FrontierPoint(StoredRow):
    """How far one partition is verified. Both offsets are next to read.

    :param records: how many were matched since comparing began
    :param skipped: records at the start of one log whose counterparts had expired on the other cluster
    :param compacted: records that only one cluster has because compaction removed them from the other one
    :param source_holes: offsets right before ``source_offset`` that had no record. What compaction removed from there
        may still be on the target, after ``target_offset``
    :param target_holes: offsets right before ``target_offset`` that had no record, likewise
    """

    source_offset: int
    target_offset: int
    records: int = 0
    skipped: int = 0
    compacted: int = 0
    source_holes: int = 0
    target_holes: int = 0


@dataclass(frozen=True, slots=True)
class KeptFrontier(StoredDocument):
    """What is kept between two runs.

    :param identity: what was compared: ids of source and target cluster, and the epoch of the flow's seed
    :param topic_ids: by topic, its id on the source and on the target; another id is another topic
    :param points: by topic and number of the partition
    """

    identity: tuple[str, str, int]
    topic_ids: Mapping[str, tuple[str, str]]
    points: Mapping[tuple[str, int], FrontierPoint] = field(metadata=stored("places"))


class FileFrontierStore:
    """Keeps the frontiers of one protection group, one file for each direction.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    """

    def __init__(self, root: Any, group: str) -> None:
        self._folder = root.joinpath("audits", group)

    def read(self, direction: str) -> KeptFrontier | None:
        """Return the frontier; ``None`` if none was kept, or if the file is damaged.

        :param direction: ``SOURCE-to-TARGET``
        """
        try:
            return self._file(direction).read()
        except DocumentDamaged as error:
            _LOG.warning("%s: the frontier is ignored, and every record is compared again.", error)
            return None

    def write(self, direction: str, frontier: KeptFrontier) -> None:
        """Replace the frontier.

        :param direction: ``SOURCE-to-TARGET``
        """
        self._file(direction).write(frontier)

    def encoded(self, direction: str, frontier: KeptFrontier) -> bytes:
        """Return what :meth:`write` writes."""
        return self._file(direction).encoded(frontier)

    def _file(self, direction: str) -> JsonFile[KeptFrontier]:
        path = self._folder.joinpath(f"frontier-{direction}.json")
        return JsonFile.of(KeptFrontier, path, _SCHEMA_VERSION)
