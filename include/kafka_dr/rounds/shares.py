"""Which groups one child process looks at. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

#: How many groups a process looks at. More processes cost memory, fewer lose more groups with one of them.
GROUPS_OF_A_PROCESS = 50


def shares(
    clusters: Mapping[str, tuple[str, ...]], *, at_most: int = GROUPS_OF_A_PROCESS
) -> tuple[tuple[str, ...], ...]:
    """Divide groups into shares of equal size. Only groups with the same clusters share a process.

    :param clusters: of each group
    :param at_most: how many groups a share has
    """
    together: dict[frozenset[str], list[str]] = defaultdict(list)
    for group in sorted(clusters):
        together[frozenset(clusters[group])].append(group)
    return tuple(share for groups in together.values() for share in divided(tuple(groups), at_most=at_most))


def divided(groups: tuple[str, ...], *, at_most: int) -> tuple[tuple[str, ...], ...]:
    """Divide groups into as few parts as possible that differ in size by at most one."""
    parts = -(-len(groups) // max(1, at_most))
    return tuple(groups[number::parts] for number in range(parts))
