"""Where a frontier remembers how far it got: a small JSON file under the evidence root, replaced as a whole."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.audit.whole_file import read_json, write_whole

_SCHEMA_VERSION = 1
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """How far one partition got. Both offsets are next to read."""

    source_offset: int
    target_offset: int
    records: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class KeptFrontier:
    """What is kept between two runs.

    :param identity: what it was found out about: cluster ids, and the epoch whose seed it began at
    :param topic_ids: by topic, its id on the source and on the target; another id is another topic
    :param places: by topic and number of the partition
    """

    identity: tuple[str, str, int]
    topic_ids: Mapping[str, tuple[str, str]]
    places: Mapping[tuple[str, int], FrontierPoint]


class FileFrontierStore:
    """Keeps frontiers of one protection group, one file for each direction.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    """

    def __init__(self, root: Any, group: str) -> None:
        self._folder = root.joinpath("audits", group)

    def read(self, direction: str) -> KeptFrontier | None:
        """Return what was kept; ``None`` where there is nothing, or nothing that can be read."""
        path = self._file(direction)
        try:
            return _from_json(read_json(path, schema=_SCHEMA_VERSION))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            _LOG.warning("The frontier kept in %s cannot be read (%s): everything is compared again.", path, error)
            return None

    def write(self, direction: str, remembered: KeptFrontier) -> None:
        """Keep this instead of what was kept before; whoever reads sees the one or the other."""
        write_whole(self._file(direction), json.dumps(_to_json(remembered), sort_keys=True).encode())

    def _file(self, direction: str) -> Any:
        return self._folder.joinpath(f"frontier-{direction}.json")


def _to_json(remembered: KeptFrontier) -> dict[str, Any]:
    return {
        "schema_version": _SCHEMA_VERSION,
        "identity": remembered.identity,
        "topic_ids": dict(remembered.topic_ids),
        "places": [
            [topic, number, place.source_offset, place.target_offset, place.records, place.skipped]
            for (topic, number), place in sorted(remembered.places.items())
        ],
    }


def _from_json(content: Any) -> KeptFrontier:
    source, target, epoch = content["identity"]
    return KeptFrontier(
        identity=(str(source), str(target), int(epoch)),
        topic_ids={topic: (str(here), str(there)) for topic, (here, there) in content["topic_ids"].items()},
        places={
            (str(topic), int(number)): FrontierPoint(*(int(value) for value in place))
            for topic, number, *place in content["places"]
        },
    )
