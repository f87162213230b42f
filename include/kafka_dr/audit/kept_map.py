"""The offset map, stored once: parts that each add runs, and the audits' state, which names the parts that count.

A part is a file of JSON lines below ``audits/<group>/checksum/<source>-to-<target>/map/``, which a failover reads with
the standard library alone. Each line is about one partition of one pair of topics in one epoch. A topic that was
deleted and created again has another id, so what is known about the former one is not used.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka_dr.audit.offset_runs import OffsetRun, joined
from kafka_dr.audit.result import AuditKind
from kafka_dr.json_documents import DocumentDamaged, parsed, write_whole
from kafka_dr.positions import TopicPartition

_SUFFIX = ".jsonl"
_LOG = logging.getLogger(__name__)


class MapKey(NamedTuple):
    """What a part of the map is about.

    :param epoch: of the flow's seed; 0 for a flow that was never seeded
    """

    epoch: int
    source_topic_id: str
    target_topic_id: str
    topic: str
    partition: int


#: Runs by what they are about, rising on both clusters.
Runs = Mapping[MapKey, Sequence[OffsetRun]]


@dataclass(frozen=True, slots=True)
class MapState:
    """What the audits of one flow know of their map.

    :param clusters: ids of source and target
    :param epoch: of the flow's seed, as in :class:`MapKey`
    :param parts: the names of the parts that count, oldest first
    :param cautions: by partition, why its map is not relied on
    """

    clusters: tuple[str, ...]
    epoch: int
    parts: tuple[str, ...]
    cautions: Mapping[TopicPartition, str]


def merged(parts: Iterable[Runs]) -> dict[MapKey, list[OffsetRun]]:
    """Return several parts as one; equal runs are taken once, and runs that continue each other are joined."""
    found: dict[MapKey, set[OffsetRun]] = {}
    for part in parts:
        for key, runs in part.items():
            found.setdefault(key, set()).update(runs)
    return {key: joined(sorted(runs)) for key, runs in sorted(found.items())}


def to_lines(runs: Runs) -> bytes:
    """Return a part of the map as JSON lines."""
    return b"".join(json.dumps([*key, runs[key]], separators=(",", ":")).encode() + b"\n" for key in runs)


def from_lines(content: bytes) -> dict[MapKey, list[OffsetRun]]:
    """Read what :func:`to_lines` wrote.

    :raises ValueError: it is something else, or a line is incomplete
    """
    found: dict[MapKey, list[OffsetRun]] = {}
    for line in content.splitlines():
        *key, runs = json.loads(line)
        epoch, source_id, target_id, topic, partition = key
        about = MapKey(int(epoch), str(source_id), str(target_id), str(topic), int(partition))
        found[about] = [OffsetRun(int(source), int(target), int(length)) for source, target, length in runs]
    return found


class KeptMap:
    """The offset map of one flow: stored once, written by audits and read by everything else.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    :param direction: ``SOURCE-to-TARGET``
    """

    def __init__(self, root: Any, *, group: str, direction: str) -> None:
        #: Where the state and the parts are.
        self.folder = root.joinpath("audits", group, str(AuditKind.CHECKSUM), direction)

    def read(self, clusters: tuple[str, str]) -> dict[MapKey, list[OffsetRun]]:
        """Return everything that is known.

        :param clusters: ids of source and target; a map of other clusters is ignored
        """
        return merged(self.newest_first(clusters))

    def newest_first(self, clusters: tuple[str, str]) -> Iterator[dict[MapKey, list[OffsetRun]]]:
        """Yield the parts that count, the newest first; a part that cannot be read is left out."""
        for name in reversed(self._names(clusters)):
            try:
                yield self.part(name)
            except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
                _LOG.warning("Part %s of the offset map in %s cannot be read (%s).", name, self.folder, error)

    def part(self, name: str) -> dict[MapKey, list[OffsetRun]]:
        """Return one part.

        :raises FileNotFoundError: there is none of that name
        :raises ValueError: it is damaged
        """
        return from_lines(self._file(name).read_bytes())

    def add(self, name: str, runs: Runs) -> None:
        """Write one part. It counts as soon as the state names it."""
        write_whole(self._file(name), to_lines(runs))

    def stored(self) -> list[str]:
        """Return the names of all parts, also of those of former epochs and of audits that died."""
        try:
            files = [path.name for path in self.folder.joinpath("map").iterdir()]
        except FileNotFoundError:
            return []
        return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))

    def _file(self, name: str) -> Any:
        return self.folder.joinpath("map", f"{name}{_SUFFIX}")

    def state(self) -> MapState | None:
        """Return what the audits know of the map; ``None`` if there was no audit.

        :raises DocumentDamaged: the file holds something else
        """
        try:
            return parsed(self.folder.joinpath("state.json").read_bytes(), _state)
        except FileNotFoundError:
            return None

    def _names(self, clusters: tuple[str, str]) -> Sequence[str]:
        try:
            state = self.state()
        except DocumentDamaged as error:
            _LOG.warning(
                "The state of the audits in %s cannot be read (%s): its offset map is not used.", self.folder, error
            )
            return ()
        return state.parts if state is not None and state.clusters == clusters else ()


def _state(content: Any) -> MapState:
    cautions: dict[TopicPartition, str] = {}
    for each in content.get("partitions", ()):
        if count := sum(int(found) for found in each["open"].values()):
            topic, number = each["partition"]
            kinds = ", ".join(sorted(each["open"]))
            said = f"{count} open findings of the checksum audit ({kinds})"
            cautions[TopicPartition(str(topic), int(number))] = said
    *clusters, epoch = content["identity"]
    return MapState(tuple(clusters), int(epoch), tuple(map(str, content["maps"])), cautions)
