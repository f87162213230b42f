"""``offsets``: a stopped group begins where a person chose, judged by the records that a foreign consumer reads."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from kafka_dr.runs.request import StepName
from support import outside_view
from support.command_line import CommandLine
from support.outside_topics import member
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka
_WHO = ("--by", "olga", "--reason", "a wrong price list was published at four")


@pytest.fixture
def group(protection: Protection) -> SwitchedGroup:
    """A group on east with a consumer group that has read half of its records."""
    return SwitchedGroup.adopt(protection, records=300)


def test_a_group_goes_back_to_a_time_after_a_plan_and_leaves_a_record(group: SwitchedGroup) -> None:
    protection, name, line = group.protection, f"{group.name}-head", CommandLine(group.protection)
    at = datetime.now(UTC)
    time.sleep(0.05)
    protection.produce("east", 40)
    ends = protection.topic_ends("east")
    protection.commit("east", name, ends)
    wanted = ("offsets", "--group", group.name, "--consumer-group", name, "--to-time", at.isoformat())

    planned = line.run(*wanted, "--json")
    assert planned.code == 0, planned.err
    assert (planned.json["again_at_most"], planned.json["skipped_at_most"]) == (40, 0)
    assert group.committed("east", name) == ends

    done = line.run(*wanted, "--confirmed", *_WHO, "--json")
    assert done.code == 0, done.err
    found = group.committed("east", name)
    assert found == {p: end - 20 for p, end in ends.items()}
    # The first record that it reads is the first one of that time, by its content.
    every = outside_view.contents(protection, "east")
    assert outside_view.next_values(protection, "east", found) == {p: every[p][-20][2] for p in found}

    (folder,) = (protection.folder / "evidence").joinpath("runs", group.name).glob("offsets__*")
    assert folder.name == done.json["sealed_as"]
    assert line.run("verify", str(folder)).code in (0, 3)
    (record,) = folder.glob("*set_offsets*.json")
    facts = json.loads(record.read_text())["facts"]
    assert facts["asked_by"] == "olga"
    assert {row["offset_before"] for row in facts["positions"]} == set(ends.values())
    assert {row["class"] for row in facts["positions"]} == {"declared"}
    assert facts["positions"] == done.json["positions"]

    again = line.run(*wanted, "--confirmed", *_WHO)
    assert (again.code, "already" in again.out) == (0, True), again


def test_what_it_never_reads_is_counted_before_it_is_skipped(group: SwitchedGroup) -> None:
    line, name = CommandLine(group.protection), f"{group.name}-slow"
    said = line.run("offsets", "--group", group.name, "--consumer-group", name, "--to-end", "--json")
    assert (said.json["again_at_most"], said.json["skipped_at_most"]) == (0, 300 - 17 - 33)
    place = f"{group.protection.topic}:1"
    said = line.run(
        *("offsets", "--group", group.name, "--consumer-group", name, "--to-offset", "7", "--partition", place, *_WHO),
        "--confirmed",
    )
    assert said.code == 0, said.err
    assert group.committed("east", name) == group.at(17, 7)


def test_nothing_is_set_for_a_group_that_runs_or_is_foreign_or_that_a_run_holds(group: SwitchedGroup) -> None:
    protection, line, name = group.protection, CommandLine(group.protection), f"{group.name}-head"
    before = group.committed("east", name)

    def refused(*arguments: str) -> str:
        said = line.run("offsets", "--group", group.name, *arguments, "--to-beginning", "--confirmed", *_WHO)
        assert said.code == 4, said
        return said.err

    assert "is not a consumer group of" in refused("--consumer-group", "somebody-else")
    assert "is not of" in refused("--consumer-group", name, "--topic", "another.topic")
    assert "does not exist on east" in refused("--consumer-group", name, "--partition", f"{protection.topic}:99")
    with member(protection, "east", name, protection.topic):
        assert "stop its applications" in refused("--consumer-group", name)
    request = group.go(StepName.FENCE_SOURCE)
    assert f"{request.run} holds" in refused("--consumer-group", name)
    group.roll_back(request)
    assert group.committed("east", name) == before


@pytest.mark.long
def test_after_a_failover_it_is_set_where_the_group_is_active(group: SwitchedGroup) -> None:
    group.go(StepName.REPORT)
    line, name = CommandLine(group.protection), f"{group.name}-head"
    east = group.committed("east", name)
    said = line.run(
        *("offsets", "--group", group.name, "--consumer-group", name, "--to-beginning", "--confirmed", *_WHO, "--json")
    )
    assert said.json["cluster"] == "west", said
    assert set(group.committed("west", name).values()) == {0}
    assert group.committed("east", name) == east


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to-time", "2026-11-27T04:03:00"), "no time zone"),
        (("--to-time", "four o'clock"), "is no time"),
        (("--to-offset", "7"), "needs one --partition"),
        (("--to-end", "--partition", "payments"), "is no partition"),
        (("--to-end", "--to-beginning"), "give one of"),
        (("--to-end", "--confirmed"), "--by NAME"),
    ],
)
def test_wrong_options_are_named_before_anything_is_asked(
    protection: Protection, arguments: tuple[str, ...], words: str
) -> None:
    said = CommandLine(protection).run("offsets", "--group", protection.name, "--consumer-group", "a", *arguments)
    assert said.code == 2
    assert words in " ".join(said.err.split())
