"""Pairs of offsets that content once confirmed, kept between two translations: a small JSON file, replaced as a whole.

They are a help and never a proof: each is confirmed by content again before anything rests on it. So a file that is
lost, stale or wrong costs reading, and no position.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_dr.audit.whole_file import read_json, write_whole

_SCHEMA_VERSION = 1
#: Pairs that are kept of one partition; those that were learned last.
_KEPT = 64
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pairs:
    """What was learned about one direction.

    :param topic_ids: by topic, its id on the source and on the target; another id is another topic
    :param offsets: by topic and number of the partition: the offsets *of* one record on the source and on the target,
        in the order in which they were learned
    """

    topic_ids: Mapping[str, tuple[str, str]]
    offsets: Mapping[tuple[str, int], tuple[tuple[int, int], ...]]

    def of(self, topic_ids: Mapping[str, tuple[str, str]]) -> Pairs:
        """Return what is about these very topics, and not about others that had their names."""
        same = {topic: ids for topic, ids in self.topic_ids.items() if topic_ids.get(topic, ids) == ids}
        return Pairs(same, {place: found for place, found in self.offsets.items() if place[0] in same})

    def with_more(self, topic_ids: Mapping[str, tuple[str, str]], learned: Pairs) -> Pairs:
        """Return these and what was learned since; of each partition the newest are kept."""
        kept = self.of(topic_ids)
        offsets = dict(kept.offsets)
        for place, found in learned.offsets.items():
            older = [pair for pair in offsets.get(place, ()) if pair not in found]
            offsets[place] = (*older, *found)[-_KEPT:]
        return Pairs({**kept.topic_ids, **topic_ids}, offsets)


NOTHING = Pairs({}, {})


class FilePairStore:
    """Keeps the pairs of one protection group, one file for each direction.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    """

    def __init__(self, root: Any, group: str) -> None:
        self._folder = root.joinpath("offset_pairs", group)

    def read(self, direction: str) -> Pairs:
        """Return what was kept; nothing where there is no file, or none that can be read."""
        path = self._file(direction)
        try:
            return _from_json(read_json(path, schema=_SCHEMA_VERSION))
        except FileNotFoundError:
            return NOTHING
        except (ValueError, KeyError, TypeError) as error:
            _LOG.warning("The pairs of offsets kept in %s cannot be read (%s): they are looked for anew.", path, error)
            return NOTHING

    def write(self, direction: str, pairs: Pairs) -> None:
        """Keep this instead of what was kept before; whoever reads sees the one or the other."""
        write_whole(self._file(direction), json.dumps(_to_json(pairs), sort_keys=True).encode())

    def _file(self, direction: str) -> Any:
        return self._folder.joinpath(f"{direction}.json")


def _to_json(pairs: Pairs) -> dict[str, Any]:
    return {
        "schema_version": _SCHEMA_VERSION,
        "topic_ids": dict(pairs.topic_ids),
        "offsets": [[topic, number, list(found)] for (topic, number), found in sorted(pairs.offsets.items())],
    }


def _from_json(content: Any) -> Pairs:
    return Pairs(
        topic_ids={str(topic): (str(here), str(there)) for topic, (here, there) in content["topic_ids"].items()},
        offsets={
            (str(topic), int(number)): tuple((int(here), int(there)) for here, there in found)
            for topic, number, found in content["offsets"]
        },
    )
