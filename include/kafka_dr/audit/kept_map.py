"""The offset map as audits keep it: parts that each add runs, and the state that says which parts count.

Beside the Parquet of each part, which is for whoever analyses it, lie the same runs as lines of JSON: a failover reads
them with nothing but Python at hand. Each line is a partition of one pair of topics in one epoch; a topic that was
deleted and created again has another id, and what is known about the old one says nothing about it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_dr.audit.offset_runs import OffsetRun, joined
from kafka_dr.audit.result import AuditKind

_LOG = logging.getLogger(__name__)


class MapKey(NamedTuple):
    """What a stretch of the map is about.

    :param epoch: of the flow's seed; 0 for a flow that was never seeded
    """

    epoch: int
    source_topic_id: str
    target_topic_id: str
    topic: str
    partition: int


#: Runs by what they are about, rising on both sides.
Runs = Mapping[MapKey, Sequence[OffsetRun]]


def merged(parts: Iterable[Runs]) -> dict[MapKey, list[OffsetRun]]:
    """Return parts of a map as one, without what is in several, and with runs joined that go on."""
    found: dict[MapKey, set[OffsetRun]] = {}
    for part in parts:
        for key, runs in part.items():
            found.setdefault(key, set()).update(runs)
    return {key: joined(sorted(runs)) for key, runs in sorted(found.items())}


def to_lines(runs: Runs) -> bytes:
    """Return a part of the map as lines of JSON."""
    return b"".join(json.dumps([*key, runs[key]], separators=(",", ":")).encode() + b"\n" for key in runs)


def from_lines(content: bytes) -> dict[MapKey, list[OffsetRun]]:
    """Read what :func:`to_lines` wrote.

    :raises ValueError: it is something else, or was cut off
    """
    found: dict[MapKey, list[OffsetRun]] = {}
    for line in content.splitlines():
        *key, runs = json.loads(line)
        epoch, source_id, target_id, topic, partition = key
        place = MapKey(int(epoch), str(source_id), str(target_id), str(topic), int(partition))
        found[place] = [OffsetRun(int(source), int(target), int(length)) for source, target, length in runs]
    return found


class KeptMap:
    """The offset map of one flow.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    :param direction: ``SOURCE-to-TARGET``
    """

    def __init__(self, root: Any, *, group: str, direction: str) -> None:
        self._folder = root.joinpath("audits", group, str(AuditKind.CHECKSUM), direction)

    def read(self, clusters: tuple[str, str]) -> dict[MapKey, list[OffsetRun]]:
        """Return all that is known.

        :param clusters: the ids of source and target; what was found out about others is none of theirs
        """
        return merged(self.newest_first(clusters))

    def newest_first(self, clusters: tuple[str, str]) -> Iterator[dict[MapKey, list[OffsetRun]]]:
        """Yield the parts that count, the one that was added last first; one that cannot be read is left out."""
        for name in reversed(self._names(clusters)):
            try:
                yield self.part(name)
            except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
                _LOG.warning("Part %s of the offset map in %s cannot be read (%s).", name, self._folder, error)

    def part(self, name: str) -> dict[MapKey, list[OffsetRun]]:
        """Return one part."""
        return from_lines(self._folder.joinpath("map", f"{name}.jsonl").read_bytes())

    def _names(self, clusters: tuple[str, str]) -> list[str]:
        try:
            state = json.loads(self._folder.joinpath("state.json").read_bytes())
            return [str(name) for name in state["maps"]] if tuple(state["identity"][:2]) == clusters else []
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            _LOG.warning("The state of the audits in %s cannot be read (%s): no map.", self._folder, error)
            return []
