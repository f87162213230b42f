"""Offset pairs that content once confirmed, kept between two translations: a small JSON file, replaced as a whole.

The pairs save time and prove nothing: content confirms each of them again before it is used. So a file that is lost,
outdated or wrong costs reading time, and no offset becomes wrong.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.codec import StoredDocument
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import DocumentDamaged, JsonFile, Recorder, not_recorded
from kafka_dr.positions import OffsetPair

_SCHEMA_VERSION = 1
#: Pairs that are kept of one partition: those that were learned last.
_KEPT = 64
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CachedPairs(StoredDocument):
    """What was learned about one direction.

    :param topic_ids: by topic, its id on the source and on the target; another id is another topic
    :param offsets: by topic and number of the partition: offset pairs, in the order in which they were learned
    """

    topic_ids: Mapping[str, tuple[str, str]]
    offsets: Mapping[tuple[str, int], tuple[OffsetPair, ...]]

    def of(self, topic_ids: Mapping[str, tuple[str, str]]) -> CachedPairs:
        """Return what is known of exactly these topics. A topic that was created again has another id."""
        same = {topic: ids for topic, ids in self.topic_ids.items() if topic_ids.get(topic, ids) == ids}
        return CachedPairs(same, {key: found for key, found in self.offsets.items() if key[0] in same})

    def with_more(self, learned: CachedPairs) -> CachedPairs:
        """Return these and what was learned since; of each partition the newest are kept."""
        kept = self.of(learned.topic_ids)
        offsets = dict(kept.offsets)
        for key, found in learned.offsets.items():
            older = [pair for pair in offsets.get(key, ()) if pair not in found]
            offsets[key] = (*older, *found)[-_KEPT:]
        return CachedPairs({**kept.topic_ids, **learned.topic_ids}, offsets)


@dataclass(frozen=True, slots=True)
class AnchorCache:
    """Keeps the pairs of one protection group, one file for each direction.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    :param record: records the digest of a file before it is written
    """

    root: Any
    group: str
    record: Recorder = field(default=not_recorded, compare=False)

    def read(self, direction: str) -> CachedPairs:
        """Return what was kept; nothing where there is no file, or where the file cannot be read.

        :param direction: ``SOURCE-to-TARGET``
        """
        try:
            return self._file(direction).read() or CachedPairs({}, {})
        except DocumentDamaged as error:
            _LOG.warning("The kept offset pairs cannot be read: they are searched for again (%s).", error)
            return CachedPairs({}, {})

    def write(self, direction: str, pairs: CachedPairs) -> None:
        """Replace what was kept. A reader sees the old file or the new one, never a part of it.

        If its digest cannot be recorded, the old file stays: the pairs only save time.
        """
        file = self._file(direction)
        try:
            self.record(self._name(direction), hashlib.sha256(file.encoded(pairs)).hexdigest())
        except KafkaDrError as error:
            _LOG.warning("The offset pairs of %s are not kept: their digest is not recorded (%s).", direction, error)
            return
        file.write(pairs)

    def learn(self, direction: str, learned: CachedPairs) -> None:
        """Keep these pairs, too; where nothing was learned, the file stays as it is."""
        if any(learned.offsets.values()):
            self.write(direction, self.read(direction).with_more(learned))

    def _name(self, direction: str) -> str:
        return f"offset_pairs/{self.group}/{direction}.json"

    def _file(self, direction: str) -> JsonFile[CachedPairs]:
        return JsonFile.of(CachedPairs, self.root.joinpath(*self._name(direction).split("/")), _SCHEMA_VERSION)
