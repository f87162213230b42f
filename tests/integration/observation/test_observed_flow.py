"""A copy that somebody else made, with faults in it: each one is found, and nothing else, by reading alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_dr.clusters import AclOperation
from lab.api import Lab
from support.others_copy import Content, OthersCopy


def numbered(numbers: range) -> list[Content]:
    return [Content(f"record {n}", key=f"k{n}") for n in numbers]


@pytest.fixture(scope="module")
def copy(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> OthersCopy:
    """Three partitions: 0 with faults, 1 written in transactions, 2 without a fault."""
    made = OthersCopy(lab, tmp_path_factory.mktemp("others-copy"))
    remote = f"{made.alias}.{made.topic}"
    made.create("east", made.topic, partitions=3)
    made.create("west", remote, partitions=3, max_message_bytes="2000000")
    made.create("west", made.checkpoints)
    made.allow()
    tail = [Content(f"new {n}", age=-600) for n in range(2)]

    made.write("east", made.topic, [*numbered(range(40)), *tail])
    found = numbered(range(40))
    changed = Content("record 30 is another", key="k30")
    foreign = Content("from nowhere")
    # Three are lost, four come again as after a restart, one is changed, one was written by hand.
    made.write(
        "west", remote, [*found[:10], *found[13:20], *found[16:30], changed, *found[31:35], foreign, *found[35:]]
    )

    made.write("east", made.topic, numbered(range(20)), partition=1, abort=False)
    made.write("east", made.topic, numbered(range(90, 93)), partition=1, abort=True)
    made.write("east", made.topic, numbered(range(20, 30)), partition=1, abort=False)
    # A reader of uncommitted records copies what was aborted, too.
    made.write("west", remote, [*numbered(range(20)), *numbered(range(90, 93)), *numbered(range(20, 30))], partition=1)

    for cluster, topic in (("east", made.topic), ("west", remote)):
        made.write(cluster, topic, numbered(range(50)), partition=2)

    group = f"orders-{made.alias}"
    made.commit("east", f"{group}-exact", made.topic, {2: 25})
    made.checkpoint(f"{group}-exact", 2, 25, 25)
    made.commit("east", f"{group}-repeats", made.topic, {2: 40})
    made.commit("west", f"{group}-repeats", remote, {2: 28})
    made.commit("east", f"{group}-skips", made.topic, {0: 15, 2: 10})
    # A position that was carried over as a number: three records are missing before it.
    made.checkpoint(f"{group}-skips", 0, 15, 15)
    made.checkpoint(f"{group}-skips", 2, 10, 10)
    made.commit("east", f"{group}-nowhere", made.topic, {2: 5})
    return made


def observed(copy: OthersCopy, *arguments: str, **more: Any) -> tuple[int, dict[str, Any]]:
    said = copy.run("observe", "theirs", "--json", *arguments, **more)
    assert said.out, said.err
    return said.code, said.json


def test_each_fault_is_found_and_nothing_else(copy: OthersCopy, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, report = observed(copy, "--report", str(page))

    assert (code, report["verdict"], report["not_looked_at"]) == (1, "failed", [])
    faults = {kind: count for kind, count in report["totals"].items() if count}
    assert faults == {
        "records_read_on_source": 122,
        "lost": 3,
        "in_flight": 2,
        "corrupted": 1,
        "foreign": 1,
        "aborted": 3,
        "duplicated": 4,
    }
    assert {(row["partition"], row["verdict"], row["equal_until"]) for row in report["partitions"]} == {
        (0, "failed", 10),
        (1, "failed", 20),
        (2, "ok", 50),
    }
    (lost,) = (row for row in report["findings"] if row["kind"] == "lost")
    assert (lost["source_offset"], lost["count"]) == (10, 3)
    assert [(row["setting"], row["verdict"]) for row in report["configuration"]] == [("max.message.bytes", "failed")]
    name = f"orders-{copy.alias}"
    assert {row["group"]: (row["again"], row["skipped"]) for row in report["groups"]} == {
        f"{name}-exact": (0, 0),
        f"{name}-nowhere": (0, 0),
        f"{name}-repeats": (12, 0),
        # The copy of 15 is before offset 15 on the target; 18 and 19 are after it twice.
        f"{name}-skips": (2, 1),
    }
    assert [row["group"] for row in report["groups"] if row["partitions_without_position"]] == [f"{name}-nowhere"]
    text = page.read_text("utf-8")
    assert f"you would lose 5 records and deliver 14 records again; {name}-skips (1) would skip unread" in text
    assert "http" not in text.replace("http-equiv", "")


def test_what_may_not_be_read_is_named_and_never_good(copy: OthersCopy) -> None:
    with copy.cluster("west", "admin") as admin:
        admin.acls.remove([copy.right(AclOperation.DESCRIBE_CONFIGS)])
        try:
            code, report = observed(copy, consumer_group_prefixes=[], topics=[copy.topic, "orders.none"])
            admin.acls.remove([copy.right(AclOperation.READ), copy.right(AclOperation.DESCRIBE)])
            hidden = observed(copy)
        finally:
            copy.allow()

    assert code == 1
    assert any("DESCRIBE_CONFIGS is not granted" in each for each in report["not_looked_at"])
    assert any("orders.none was not looked at" in each for each in report["not_looked_at"])
    assert report["configuration"] == []
    # Whether the topic is compacted is not known now, and no key occurs twice: a loss stays one.
    assert report["totals"]["lost"] == 3

    # A copy that nobody may see is not a copy that is missing.
    code, report = hidden
    assert (code, report["verdict"], report["partitions"]) == (3, "unknown", [])
    assert {row["verdict"] for row in report["partitions_left_out"]} == {"unknown"}
    assert all("its copy is hidden" in row["reason"] for row in report["partitions_left_out"])
    assert any(f"the checkpoints in {copy.checkpoints} were not looked at" in each for each in report["not_looked_at"])


def test_what_is_not_reached_is_left_out_and_unknown(copy: OthersCopy) -> None:
    code, report = observed(copy, most_records=10, records_per_partition=10)

    assert (code, report["verdict"]) == (1, "failed")
    assert [row["partition"] for row in report["partitions"]] == [0]
    assert [(row["partition"], row["verdict"]) for row in report["partitions_left_out"]] == [
        (1, "unknown"),
        (2, "unknown"),
    ]
    assert "you would lose at least 2 records" in report["sentence"]


def test_a_command_that_changes_something_refuses_the_flow_by_name(copy: OthersCopy) -> None:
    said = copy.run("failover", "planned", "--group", "theirs", "--reason", "a try")

    assert said.code == 4, said.err
    assert "theirs is an observed flow: it is read and reported about, and nothing of it is changed" in said.err
    assert copy.run("observe", "their").code == 2


def of_another(copy: OthersCopy, folder: Path) -> OthersCopy:
    """Topics of a test's own: one partition with 30 records, and a topic for its copy without one."""
    own = OthersCopy(copy.lab, folder)
    own.create("east", own.topic)
    own.create("west", f"{own.alias}.{own.topic}")
    own.create("west", own.checkpoints)
    own.allow()
    return own


@pytest.mark.parametrize("uncommitted", [False, True], ids=["a committed reader copies", "everything is copied"])
def test_acknowledged_records_after_an_open_transaction_are_lost_unless_they_are_copied(
    copy: OthersCopy, tmp_path: Path, uncommitted: bool
) -> None:
    own = of_another(copy, tmp_path)
    before, opened, later = numbered(range(30)), numbered(range(30, 32)), numbered(range(40, 60))
    own.write("east", own.topic, before)
    with own.open_transaction("east", own.topic, opened) as producer:
        own.write("east", own.topic, later)
        copied = [*before, *opened, *later] if uncommitted else before
        own.write("west", f"{own.alias}.{own.topic}", copied)
        code, report = observed(own, late_after_seconds=3600)
        producer.abort_transaction(30)
    held = "20 acknowledged records and 2 records that may still be aborted are held back by the open transaction of"
    faults = {kind: count for kind, count in report["totals"].items() if count}
    if uncommitted:
        assert faults == {"records_read_on_source": 52}
        assert "you would lose 0 records" in report["sentence"]
    else:
        assert faults == {"records_read_on_source": 52, "in_flight": 20, "undecided": 2}
        assert "you would lose 20 records" in report["sentence"]
    assert f"On east {held} " in report["sentence"]
    assert (code, report["verdict"]) == (0, "ok"), report


def test_checkpoints_in_a_topic_that_does_not_exist_are_unknown_and_no_missing_position(
    copy: OthersCopy, tmp_path: Path
) -> None:
    own = of_another(copy, tmp_path)
    for cluster, topic in (("east", own.topic), ("west", f"{own.alias}.{own.topic}")):
        own.write(cluster, topic, numbered(range(30)))
    own.commit("east", f"orders-{own.alias}-a", own.topic, {0: 7})
    code, report = observed(own, checkpoints_topic=f"{own.alias}.checkpoint.internal")
    assert (code, report["verdict"]) == (3, "unknown"), report
    assert "would find no position" not in report["sentence"]
    assert "of orders-" in report["sentence"]
    assert "it is not known" in report["sentence"]
    [said] = report["not_looked_at"]
    assert said.startswith(f"west has no topic {own.alias}.checkpoint.internal, so it is not known where MirrorMaker")


@pytest.mark.parametrize("case", ["empty", "no copy of an empty topic", "nothing copied yet"])
def test_a_flow_that_shows_no_copied_record_is_unknown_and_never_good(
    copy: OthersCopy, tmp_path: Path, case: str
) -> None:
    own = of_another(copy, tmp_path)
    more: dict[str, Any] = {"topics": [own.topic]}
    if case == "no copy of an empty topic":
        other = f"{own.topic}.more"
        own.create("east", other)
        for cluster, topic in (("east", own.topic), ("west", f"{own.alias}.{own.topic}")):
            own.write(cluster, topic, numbered(range(30)))
        more["topics"].append(other)
    if case == "nothing copied yet":
        own.write("east", own.topic, numbered(range(30)))
        more["late_after_seconds"] = 3600
    code, report = observed(own, **more)
    assert (code, report["verdict"]) == (3, "unknown"), report
    said = {
        "empty": "no topic of the flow holds a record on east, so nothing shows whether it is copied",
        "no copy of an empty topic": f"{own.topic}.more held no record and has no copy on west",
        "nothing copied yet": "west holds no copy of any record, so nothing shows that anything is copied",
    }
    assert report["not_looked_at"][0].startswith(said[case])
    assert ("it is not known what you would lose" in report["sentence"]) == (case == "empty")
