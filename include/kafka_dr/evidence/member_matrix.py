"""Members that take writes together, as one table: a line for each member, and what each other one holds of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.watch_row import OUTCOME_WORDS

if TYPE_CHECKING:
    from kafka_dr.evidence.status_view import GroupCard


@dataclass(frozen=True, slots=True)
class BlockOfMembers:
    """Members that hold copies of each other.

    :param groups: the groups of the members' clients, by member
    :param holding: the members that hold copies of all others
    """

    groups: Mapping[str, str]
    holding: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemberCell:
    """What one member holds of what another one has taken, in words."""

    said: str
    colour: StatusColour | None = None


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One member.

    :param anchor: where the rest of its clients' group is on the page
    :param clients: where its clients are
    :param cells: in the order of the members
    """

    member: str
    anchor: str
    clients: MemberCell
    cells: tuple[MemberCell, ...]


@dataclass(frozen=True, slots=True)
class MemberMatrix:
    """A block.

    :param members: those that hold copies of all others
    """

    block: str
    members: tuple[str, ...]
    rows: tuple[MemberRow, ...]


_WORDS: Mapping[StatusColour, str] = {colour: word for word, colour in reversed(OUTCOME_WORDS.values())}
_ITSELF = MemberCell("")
_NOT_WRITTEN = MemberCell("nothing new")
_UNKNOWN = MemberCell("UNKNOWN", "unknown")


def member_matrices(blocks: Mapping[str, BlockOfMembers], cards: Sequence[GroupCard]) -> tuple[MemberMatrix, ...]:
    """Return the table of each block, by its name."""
    known = {card.group: card for card in cards}
    return tuple(
        MemberMatrix(
            name,
            block.holding,
            tuple(_row(member, known[group], block) for member, group in block.groups.items()),
        )
        for name, block in sorted(blocks.items())
        if all(group in known for group in block.groups.values())
    )


def _row(member: str, card: GroupCard, block: BlockOfMembers) -> MemberRow:
    cells = (_cell(member, other, card, is_spoke=member not in block.holding) for other in block.holding)
    return MemberRow(member, card.anchor, _clients(member, card), tuple(cells))


def _clients(member: str, card: GroupCard) -> MemberCell:
    if not card.picture.known:
        return _UNKNOWN
    return MemberCell(f"on {card.picture.active}", "good" if card.picture.active == member else "warn")


def _cell(member: str, other: str, card: GroupCard, *, is_spoke: bool) -> MemberCell:
    """Return what another member holds. Nobody writes on a member whose clients are elsewhere.

    :param is_spoke: whether reports on the other one wait until it is complete
    """
    if other == member:
        return _ITSELF
    if not card.picture.known:
        return _UNKNOWN
    if card.picture.active != member:
        return _NOT_WRITTEN
    for line in card.standbys:
        if line.name == other:
            found = _of_flow(line.lag, line.canary, line.flow)
            return replace(found, said=f"{found.said}, {line.complete}") if is_spoke else found
    if card.standbys or card.picture.standby != other:
        return _UNKNOWN
    return _of_flow(card.picture.lag, card.picture.canary, card.picture.colour)


def _of_flow(lag: str, canary: str, colour: StatusColour) -> MemberCell:
    """Return a short field if the flow is well: a table of five members has twenty of them."""
    return MemberCell(lag.partition(" (")[0] if colour == "good" else f"{_WORDS[colour]}: {lag}, {canary}", colour)
