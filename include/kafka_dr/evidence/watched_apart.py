"""What is looked at and is no protection group: observed flows, stretch clusters, and conflicts between members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka_dr.counted import counted
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.stretch_tables import SITES
from kafka_dr.evidence.tables import Table, made_tables
from kafka_dr.evidence.watch_row import OUTCOME_WORDS, WatchRow, watch_row
from kafka_dr.watch_results import WatchedGroup

#: By kind, as the topology calls it: the title, one of them in words, and what it is.
_KINDS: Mapping[str, tuple[str, str, str]] = {
    "observed": (
        "Replication that is observed alone",
        "observed flow",
        "Somebody else runs it. It is read, and nothing of it is changed. What is found gates nothing.",
    ),
    "stretched": (
        "Stretch clusters",
        "stretch cluster",
        "One cluster over several sites. It fails over by itself. Its placement is read, and nothing of it is changed.",
    ),
    "conflicts": (
        "Conflicts between members",
        "block with conflict audits",
        "Records of one key that two members took before either had the other's. They are read, nothing is changed.",
    ),
}


@dataclass(frozen=True, slots=True)
class ApartCard:
    """One of them.

    :param href: everything that is kept of it
    :param word: the worst outcome of what looks at it
    :param rows: what looks at it
    :param tables: of a stretch cluster: what the loss of each site would do
    """

    name: str
    href: str
    word: str
    colour: StatusColour
    rows: tuple[WatchRow, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class ApartCards:
    """All of one kind.

    :param kind: as the topology calls it
    """

    kind: str
    cards: tuple[ApartCard, ...]

    @property
    def title(self) -> str:
        """What they are called together."""
        return _KINDS[self.kind][0]

    @property
    def counted(self) -> str:
        """How many there are, in words."""
        return counted(len(self.cards), _KINDS[self.kind][1])

    @property
    def about(self) -> str:
        """What they are, and what becomes of them."""
        return _KINDS[self.kind][2]


def apart_cards(
    found: Mapping[str, Mapping[str, WatchedGroup]], now: datetime, links: StatusLinks
) -> tuple[ApartCards, ...]:
    """Return the cards of each kind of which there are any.

    :param found: by kind and name, what was found
    :param now: UTC
    """
    return tuple(
        ApartCards(kind, tuple(_card(each, now, links) for each in found[kind].values()))
        for kind in _KINDS
        if found.get(kind)
    )


def _card(found: WatchedGroup, now: datetime, links: StatusLinks) -> ApartCard:
    word, colour = OUTCOME_WORDS[found.outcome]
    rows = tuple(watch_row(each, now, links) for each in found.watches)
    known = [each.result.facts for each in found.watches if each.result is not None and not each.reason]
    tables = tuple(table for facts in known for table in made_tables([SITES], facts))
    return ApartCard(found.group, links.group(found.group), word, colour, rows, tables)
