"""The topics of the demo: placed well, and badly on purpose, each in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PREFIX = "stretch."
WELL = f"{PREFIX}well-placed"
DELAY = "kafka-dr-delay"


@dataclass(frozen=True, slots=True)
class DemoTopic:
    """A topic.

    :param replicas: of each partition, the preferred leader first
    """

    name: str
    min_in_sync: int
    replicas: tuple[tuple[int, ...], ...]


def topics_for(sites: Mapping[str, Sequence[int]], lost: str) -> tuple[DemoTopic, ...]:
    """Return the topics.

    :param sites: the two brokers of each of three sites
    :param lost: the site that is going to be killed
    """
    (l1, l2), (a1, a2), (b1, b2) = (sites[lost], *(sites[each] for each in sorted(sites) if each != lost))
    return (
        DemoTopic(WELL, 2, ((l1, a1, b1), (a1, b1, l1), (b1, l1, a1), (l2, b2, a2), (a2, l2, b2), (b2, a2, l2))),
        DemoTopic(f"{PREFIX}min-1", 1, ((l2, l1, b1), (a1, l1, b2))),
        DemoTopic(f"{PREFIX}two-copies", 2, ((l1, a1), (b1, l2), (a1, b2))),
        DemoTopic(f"{PREFIX}crowded", 2, ((l1, l2, a1), (b1, l1, l2))),
        DemoTopic(f"{PREFIX}one-site", 1, ((l1, l2), (a1, a2))),
        DemoTopic(f"{PREFIX}one-copy", 2, ((l1,), (l2,), (b1,))),
        DemoTopic(DELAY, 1, ((l1, a1), (l1, b1), (a1, l1), (a1, b1), (b1, l1), (b1, a1))),
    )
