"""A line for each of several standbys, the worst first, the same on every page and on the command line."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kafka_dr.evidence.page import render_status
from kafka_dr.evidence.standby_lines import StandbyLine, standby_lines, targets_of
from kafka_dr.evidence.status_view import build_status_view
from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.situations.group_now import GroupNow, group_now
from kafka_dr.watch_results import STANDBYS, KeptResult, WatchName, WatchOutcome
from kafka_dr.watch_results.status import watched_group
from support.kept_metrics import NOON, kept
from support.page_links import LINKS
from support.situation_cases import health, results
from support.visible_text import visible_words

NOW = NOON + timedelta(seconds=40)
COPIES = {"north": "copy", "west": "copy"}
NONE = VerbReadiness("failback", (ReadinessCheck("not_needed", "ok", "the standby is a copy"),))


def of_both(watch: WatchName, north: WatchOutcome = "ok", west: WatchOutcome = "ok", **facts: Any) -> KeptResult:
    """Return what a watch kept of both standbys."""
    good = kept("orders", watch)
    worst: WatchOutcome = "failed" if "failed" in (north, west) else "ok"
    rows = [
        {**good.facts, **facts, "standby": name, "outcome": outcome, "said": [f"{name} is {outcome}"]}
        for name, outcome in (("north", north), ("west", west))
    ]
    return replace(good, outcome=worst, facts={**good.facts, STANDBYS: rows})


def readiness(**outcomes: Any) -> KeptResult:
    """Return what readiness kept, with the outcome of the one question about each standby."""
    asked = [ReadinessCheck("space", outcomes.get(name, "ok"), f"to {name}: a disk", NOON, name) for name in COPIES]
    unplanned = ReadinessCheck("space", "ok", "a disk", NOON)
    both = (VerbReadiness("planned_failover", tuple(asked)), VerbReadiness("unplanned_failover", (unplanned,)))
    return kept("orders", "readiness", facts=facts_of((*both, NONE)))


def known(roles: Any = None, **changed: Any) -> GroupNow:
    said = " and ".join(name if role == "copy" else f"{name} ({role})" for name, role in (roles or COPIES).items())
    found = results(
        **{
            "health": health(standby=said, roles=roles or COPIES),
            **{watch: of_both(watch) for watch in ("flows", "canary", "lag", "checksum")},
            "readiness": readiness(),
            **changed,
        }
    )
    return group_now(watched_group("orders", found, NOW), (), (), NOW)


def lines(**changed: Any) -> tuple[StandbyLine, ...]:
    return standby_lines(known(**changed), NOW)


def test_a_quiet_standby_is_said_in_one_line() -> None:
    north, west = lines()
    assert (north.colour, west.colour) == ("good", "good")
    assert north.said == (
        "north (copy): lag 0.5 s (7 records), canary on time, 0.4 s, compared 40 s ago: equal. Move now? YES"
    )


@pytest.mark.parametrize("watch", ["flows", "canary", "lag", "checksum"])
def test_the_worst_comes_first_and_the_other_one_stays_well(watch: WatchName) -> None:
    found = lines(**{str(watch): of_both(watch, west="failed")})
    assert [(each.name, each.colour) for each in found] == [("west", "bad"), ("north", "good")]


def test_a_standby_that_nothing_is_copied_to_is_no_target() -> None:
    pending = known(roles={"north": "copy", "west": "pending"})
    assert [(each.name, each.role) for each in standby_lines(pending, NOW)] == [("west", "pending"), ("north", "copy")]
    assert [name for name, _ in targets_of(pending, NOW, "planned_failover")] == ["north"]
    stopped = known(flows=of_both("flows", north="failed"))
    assert [name for name, _ in targets_of(stopped, NOW, "planned_failover")] == ["west", "north"]
    ((_, first), *_) = targets_of(known(), NOW, "unplanned_failover")
    assert first.endswith("lag 0.5 s (7 records), compared 40 s ago: equal; possible now? YES")


def test_whether_it_can_be_moved_is_answered_for_each_and_by_the_watch_of_each() -> None:
    (west, north) = lines(readiness=readiness(west="failed"))
    assert (west.name, west.move, west.why) == ("west", "NO", "a disk")
    assert (north.name, north.move) == ("north", "YES")
    judged = known(readiness=readiness(west="failed")).judgement
    assert judged.headline == "east serves, and the group could not be moved to west now"
    assert judged.why_not == "The group can be moved to north."
    none = known(readiness=readiness(west="failed", north="failed"))
    assert none.judgement.headline == "east serves, and the group could not be moved now"
    rows = [
        {"standby": "west", "outcome": "failed", "said": ["its flow is stopped"]},
        {"standby": "north", "outcome": "ok"},
    ]
    red = health("failed", standby="north and west", roles=COPIES, open_checks={"flow": "failed"}, standbys=rows)
    (west, north) = lines(health=red)
    assert (west.move, west.why, north.move) == ("NO", "its flow is stopped", "YES")
    (west, north) = lines(flows=of_both("flows", west="failed"))
    assert (west.move, west.why, north.move) == ("NO", "west is failed", "YES")


def test_what_is_old_or_from_before_a_move_is_unknown() -> None:
    old = of_both("checksum", looked_at=(NOON - timedelta(hours=3)).isoformat())
    assert {each.compared for each in lines(checksum=old)} == {"not compared lately"}
    moved = of_both("lag", looked_at=(NOON - timedelta(minutes=2)).isoformat())
    at_noon = health(standby="north and west", roles=COPIES, flow_since=NOON.isoformat())
    assert {each.lag for each in lines(lag=moved, health=at_noon)} == {"lag UNKNOWN"}


def test_a_pair_has_no_lines_and_the_page_its_picture() -> None:
    pair = watched_group("orders", results(), NOW)
    assert standby_lines(group_now(pair, (), (), NOW), NOW) == ()
    assert 'class="fan"' not in render_status(build_status_view([pair], NOW, LINKS, {}))


def test_the_picture_leads_to_each_standby_and_a_quiet_page_stays_short() -> None:
    group = known()
    page = render_status(build_status_view([group.watched], NOW, LINKS, {}))
    shown = page.partition('class="fan"')[2].partition("</div>")[0]
    assert [shown.count(f"<b>{name}</b>") for name in ("east", "north", "west")] == [1, 1, 1]
    assert page.count("<b>east</b>") == 1, "one arrow leads from it to each"
    assert len(visible_words(page)) <= 150
    assert group.judgement.headline == "east serves, north and west could take over"


@pytest.mark.parametrize("watch", ["flows", "canary", "lag", "checksum"])
def test_the_situation_names_the_standby_that_is_concerned_and_where_the_group_can_go(watch: WatchName) -> None:
    judged = known(**{str(watch): of_both(watch, west="failed")}).judgement
    assert judged.colour == "bad"
    assert "west" in judged.headline
    assert "north" not in judged.headline
    assert judged.why_not.endswith("The group can be moved to north.")


def test_a_silent_standby_leaves_the_other_one() -> None:
    silent = health("unknown", standby="north and west", roles=COPIES, silent=["west"], answering=["east", "north"])
    judged = known(health=silent).judgement
    assert judged.sentence == "east serves; if it fails now, north could take over. Check west."
    two = health("unknown", standby="north and west", roles=COPIES, silent=["east", "west"], answering=["north"])
    judged = known(health=two).judgement
    assert (judged.name, "--to STANDBY" in (judged.action.command if judged.action else "")) == ("active_silent", True)
