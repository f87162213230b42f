"""Which groups share a process."""

from __future__ import annotations

from kafka_dr.rounds.shares import divided, shares


def test_groups_on_other_clusters_are_in_other_processes_and_shares_are_equal() -> None:
    clusters = {f"a{number}": ("east", "west") for number in range(7)} | {"b": ("west", "east"), "c": ("east", "north")}
    found = shares(clusters, at_most=3)
    assert sorted(group for share in found for group in share) == sorted(clusters)
    assert sorted(map(len, found)) == [1, 2, 3, 3]
    assert ("c",) in found


def test_nothing_is_divided_into_nothing() -> None:
    assert divided((), at_most=3) == ()
    assert shares({}) == ()
