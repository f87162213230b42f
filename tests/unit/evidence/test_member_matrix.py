"""Members that take writes together are one table: a line a member, a field for what each other one holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.evidence.member_matrix import BlockOfMembers, MemberMatrix
from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.status_view import StatusView, build_status_view
from kafka_dr.watch_results import STANDBYS, WatchedGroup, WatchName
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON, kept
from support.page_links import LINKS
from support.situation_cases import health, results
from support.visible_text import visible_words

NOW = NOON + timedelta(seconds=40)


def block(*members: str, hubs: tuple[str, ...] = ()) -> dict[str, BlockOfMembers]:
    return {"shop": BlockOfMembers({name: f"shop-{name}" for name in members}, hubs or members)}


PAIR, FIVE = block("east", "west"), block("east", "west", "north", "south", "mid")


def clients(
    group: str, active: str, *others: str, failed: str = "", complete: Mapping[str, datetime] | None = None
) -> WatchedGroup:
    """Return what is known of one member's clients, whose flow to one of the others may have failed.

    :param complete: by member up to when it has all
    """
    roles: dict[str, Any] = dict.fromkeys(others, "copy") if len(others) > 1 else {}
    facts: dict[str, Any] = {"active": active, "standby": " and ".join(others), **({"roles": roles} if roles else {})}
    found: dict[WatchName, Any] = results(health=health(**facts))
    for watch in ("flows", "canary", "lag") if roles else ():
        good = kept("orders", watch)
        rows = [
            {**good.facts, "standby": name, "outcome": "failed" if name == failed else "ok", "said": ["seen"]}
            for name in others
        ]
        found[watch] = replace(good, facts={**good.facts, STANDBYS: rows})
    if complete is not None:
        checked = kept("orders", "checksum")
        times = {name: {"complete_up_to": complete[name].isoformat()} if name in complete else {} for name in others}
        rows = [{**checked.facts, **times[name], "standby": name, "outcome": "ok", "said": ["seen"]} for name in others]
        found["checksum"] = replace(checked, facts={**checked.facts, STANDBYS: rows})
    return watched_group(group, found, NOW)


def shown(blocks: Any, *groups: WatchedGroup) -> tuple[StatusView, MemberMatrix]:
    view = build_status_view(groups, NOW, LINKS, {}, blocks=blocks)
    (matrix,) = view.members
    return view, matrix


def test_each_member_of_five_has_one_line_and_a_field_for_each_other_one() -> None:
    names = list(FIVE["shop"].groups)
    groups = (
        clients(f"shop-{name}", name, *(each for each in names if each != name), failed="mid" if name == "west" else "")
        for name in names
    )
    view, matrix = shown(FIVE, *groups)
    assert [row.member for row in matrix.rows] == names
    west = matrix.rows[1]
    assert [cell.colour for cell in west.cells] == ["good", None, "good", "good", "bad"]
    assert {cell.colour for row in matrix.rows if row is not west for cell in row.cells} == {"good", None}
    assert west.cells[0].said == "lag 0.5 s"
    assert west.cells[4].said == "FAILED: lag 0.5 s (7 records), canary on time, 0.4 s"
    page = render_status(view)
    assert page.count("<table>") == 1
    assert "what each member holds of the others" in " ".join(visible_words(page))


def test_a_field_of_a_spoke_says_up_to_when_the_hub_is_complete() -> None:
    names = block("east", "west", "north", hubs=("west", "north"))
    east = clients("shop-east", "east", "west", "north", complete={"west": NOON})
    others = (clients(f"shop-{name}", name, *({"west", "north"} - {name})) for name in ("west", "north"))
    _, matrix = shown(names, east, *others)
    assert [each.said for each in matrix.rows[0].cells] == [
        f"lag 0.5 s, complete up to {NOON:%H:%M} UTC · 40 s ago",
        "lag 0.5 s, not known to be complete",
    ]
    assert "complete" not in " ".join(cell.said for row in matrix.rows[1:] for cell in row.cells)


def test_nobody_writes_on_a_member_whose_clients_are_elsewhere() -> None:
    _, matrix = shown(PAIR, clients("shop-east", "west", "east"), clients("shop-west", "west", "east"))
    east, west = matrix.rows
    assert (east.clients.said, east.clients.colour) == ("on west", "warn")
    assert (east.cells[1].said, east.cells[1].colour) == ("nothing new", None)
    assert west.clients.colour == "good"
    assert west.cells[0].colour == "good"


def test_what_is_not_known_now_is_unknown_in_each_field() -> None:
    _, matrix = shown(PAIR, watched_group("shop-east", {}, NOW), clients("shop-west", "west", "east"))
    assert [(cell.said, cell.colour) for cell in (matrix.rows[0].clients, matrix.rows[0].cells[1])] == [
        ("UNKNOWN", "unknown")
    ] * 2


def test_a_page_without_active_active_use_has_no_such_table() -> None:
    view = build_status_view([clients("orders", "east", "west")], NOW, LINKS, {})
    assert not view.members
    assert "<table>" not in render_status(view)


def test_of_spokes_and_hubs_the_table_says_what_each_hub_holds() -> None:
    hubs = (clients("shop-north", "north", "south"), clients("shop-south", "south", "north"))
    spoke = clients("shop-east", "east", "north", "south")
    _, matrix = shown(block("east", "north", "south", hubs=("north", "south")), spoke, *hubs)
    assert matrix.members == ("north", "south")
    assert [[cell.colour for cell in row.cells] for row in matrix.rows] == [
        ["good", "good"],
        [None, "good"],
        ["good", None],
    ]
