"""A real cluster over three sites: what may be seen, how long a link takes, plans for Kafka's tools, a site lost."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from lab.credentials import ADMIN
from support.kafka_tools import run_as_printed, tools_in
from support.stretched import BLIND, DELAY, MOVER, PREFIX, PROBE, SHORTSIGHTED, Stretched
from support.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

WELL = ((1, 2, 3), (2, 3, 1), (6, 4, 5))
#: What stops, or refuses writes, without site-c.
BAD = {f"{PREFIX}two": ((3, 1), (2, 6), (3, 6)), f"{PREFIX}three": ((3, 6, 1),)}
PAIRS = ((1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2))


def sentences(report: dict[str, Any], level: str) -> str:
    return " / ".join(each["sentence"] for each in report["findings"] if each["level"] == level)


def test_what_is_placed_well_is_green_for_who_may_only_look(stretched: Stretched, tmp_path: Path) -> None:
    stretched.create(f"{PREFIX}seen", *WELL)
    report = stretched.looked(tmp_path)
    assert (report["exit_code"], report["verdict"]) == (0, "warning")
    assert "replica.selector.class" in sentences(report, "warning")
    assert [(row["site"], row["brokers"], row["controllers"], row["verdict"]) for row in report["sites"]] == [
        ("site-a", [1, 4], [1], "ok"),
        ("site-b", [2, 5], [2], "ok"),
        ("site-c", [3, 6], [3], "ok"),
    ]
    assert [stretched.looked(tmp_path, acks=each)["exit_code"] for each in (None, "not_all")] == [3, 1]
    other = stretched.run(tmp_path, cluster_id="another")
    assert (other.code, "says that it is the cluster" in other.err) == (4, True)


def test_what_may_not_be_seen_is_named_and_never_green(stretched: Stretched, tmp_path: Path) -> None:
    stretched.create(f"{PREFIX}seen", *WELL)
    stretched.create(f"{PREFIX}hidden", (3, 6))
    part = stretched.looked(tmp_path, principal=SHORTSIGHTED)
    assert part["exit_code"] == 3
    assert "not judged (" in sentences(part, "unknown")
    assert "failed" not in {each["level"] for each in part["findings"]}
    blind = stretched.looked(tmp_path, principal=BLIND, topics=[f"{PREFIX}seen"])
    assert blind["exit_code"] == 3
    for unknown in ("the metadata quorum", "the sizes of logs", "the settings of"):
        assert unknown in sentences(blind, "unknown")
    assert "failed" not in {each["level"] for each in blind["findings"]}


def test_a_login_that_is_wrong_is_our_mistake(stretched: Stretched, tmp_path: Path) -> None:
    said = stretched.run(tmp_path, password="wrong")
    assert (said.code, said.out) == (3, "")
    assert "refuses the login of stretch-observer" in said.err


def test_the_delay_between_sites_is_measured_and_red_if_the_link_is_slow(stretched: Stretched, tmp_path: Path) -> None:
    delay = {"topic": DELAY, "connection": PROBE, "most_ms": 40}
    missing = stretched.looked(tmp_path, delay=delay)
    assert (missing["exit_code"], f"shows no topic {DELAY}" in sentences(missing, "unknown")) == (3, True)

    stretched.create(f"{PREFIX}seen", *WELL)
    stretched.create(DELAY, *PAIRS[:-1], min_in_sync=1)
    fast = stretched.looked(tmp_path, delay={**delay, "most_ms": 500})
    assert "site-c → site-b is not known: the topic has no partition" in sentences(fast, "unknown")
    known = [each for each in fast["delays"] if each["typical"] is not None]
    assert [(each["samples"], 0 < each["typical"] < 500) for each in known] == [(60, True)] * 5

    stretched.cluster.delay(30)
    try:
        slow = stretched.looked(tmp_path, delay=delay)
    finally:
        stretched.cluster.delay(0)
    assert slow["exit_code"] == 1
    assert sentences(slow, "failed").count("ms longer (median), and most_ms is 40") == 5, slow["delays"]
    # There and back are 60 ms; on a busy machine it takes longer.
    assert all(each["typical"] > 55 for each in slow["delays"] if each["typical"] is not None)


def test_what_the_plan_prints_is_taken_by_kafkas_own_tools_and_leaves_nothing_to_move(
    stretched: Stretched, tmp_path: Path
) -> None:
    stretched.create(f"{PREFIX}crowded", (3, 6, 1), (1, 2, 3))
    delay = {"topic": DELAY, "connection": PROBE, "most_ms": 1000}
    printed = stretched.run(tmp_path, "--plan", delay=delay).out
    lines = printed[printed.index("\n# ") :].splitlines()
    script = []
    for line in lines:
        if line.startswith("{"):
            name = "reassign.json" if '"version"' in line else "elect.json"
            (tmp_path / name).write_text(line)
        elif line.startswith("kafka-") and "--verify" not in line:
            script.append(line)
    servers = stretched.cluster.client_settings(ADMIN)["bootstrap.servers"]
    admin = stretched.cluster.context.home.java_client("east", ADMIN)
    text = "\n".join(script).replace("SERVERS", servers).replace("FILE", str(admin)).replace("BYTES", "100000000")
    assert [each.split()[0] for each in script] == ["kafka-reassign-partitions.sh", "kafka-topics.sh"]
    run_as_printed(text, tools_in(tmp_path / "tools"), tmp_path)

    moved = (f"{PREFIX}crowded", 0)
    eventually(lambda: stretched.in_sync([f"{PREFIX}crowded"])[moved] in ({3, 2, 1}, {3, 5, 1}))
    again = stretched.run(tmp_path, "--plan", delay=delay)
    assert ("# Nothing to move." in again.out, again.code) == (True, 0)
    assert len(stretched.in_sync([DELAY])) == len(PAIRS)


def test_a_plan_is_applied_by_the_digest_that_a_person_has_read_and_by_no_other(
    stretched: Stretched, tmp_path: Path
) -> None:
    crowded = (f"{PREFIX}crowded", 0)
    stretched.create(crowded[0], (3, 6, 1), (1, 2, 3))
    read = stretched.looked(tmp_path, arguments=("--plan",))["plan"]["digest"]
    stretched.create(f"{PREFIX}later", (2, 5, 1))
    apply = {"apply_connection": MOVER}
    for refused, said in (
        (stretched.run(tmp_path, "--apply", read, **apply), "is not the plan of now"),
        (stretched.run(tmp_path, "--apply", read), "has no apply_connection"),
    ):
        assert (said in refused.err, refused.code) == (True, 4), refused
    assert stretched.in_sync([crowded[0]])[crowded] == {3, 6, 1}

    now = stretched.looked(tmp_path, arguments=("--plan",))["plan"]["digest"]
    denied = stretched.run(tmp_path, "--apply", now, apply_connection=PROBE)
    assert (denied.code, stretched.in_sync([crowded[0]])[crowded]) == (3, {3, 6, 1}), denied
    done = stretched.run(tmp_path, "--apply", now, "--plan", **apply)
    assert (done.code, "# Nothing to move." in done.out) == (0, True), done
    assert stretched.in_sync([crowded[0]])[crowded] in ({3, 2, 1}, {3, 5, 1})
    assert f"{crowded[0]}-0 has moved" in done.err


def test_a_broker_that_hangs_hides_nothing_else(stretched: Stretched, tmp_path: Path) -> None:
    """So that a person sees what is left before the controller has noticed a loss."""
    stretched.create(f"{PREFIX}well", *WELL)
    node = "east-broker-6"
    stretched.cluster.supervisor.pause(node)
    try:
        report = stretched.looked(tmp_path)
    finally:
        stretched.cluster.supervisor.signal(node, signal.SIGCONT)
    assert report["exit_code"] in (1, 3)
    assert [row["site"] for row in report["sites"]] == ["site-a", "site-b", "site-c"]
    assert len(report["if_lost"]["site-a"]["partitions"]) >= len(WELL)
    eventually(lambda: stretched.in_sync([f"{PREFIX}well"])[f"{PREFIX}well", 2] == {4, 5, 6})


def test_the_loss_of_a_site_is_as_it_was_predicted(stretched: Stretched, tmp_path: Path) -> None:
    stretched.create(f"{PREFIX}well", *WELL)
    for name, replicas in BAD.items():
        stretched.create(name, *replicas)
    predicted = stretched.looked(tmp_path)
    assert predicted["exit_code"] == 1
    assert predicted["sentence"].startswith("If site-c is lost: 1 partition stops, 3 partitions refuse")
    rows = {(row["topic"], row["partition"]): row for row in predicted["if_lost"]["site-c"]["partitions"]}

    stretched.cluster.kill("site-c")
    try:
        said = {place: row["leader_after"] for place, row in rows.items()}
        eventually(lambda: {p: leader for p, leader in stretched.leaders().items() if p in said} == said, seconds=90)
        real = {each: _written(stretched, each) for each in rows if rows[each]["leader_after"] is not None}
        expected = {"continues": "written", "refuses": "NOT_ENOUGH_REPLICAS"}
        assert real == {each: expected[rows[each]["outcome"]] for each in real}
        lost = stretched.looked(tmp_path)
        assert "down: broker 3, 6" in sentences(lost, "failed")
        assert "1 partition (stretch.two-2): there is no leader now" in sentences(lost, "failed")
        assert lost["if_lost"]["site-a"]["quorum"] == "unknown"
    finally:
        stretched.cluster.bring_back("site-c")
    everything = {(name, n): {*row} for name, replicas in BAD.items() for n, row in enumerate(replicas)}
    eventually(lambda: stretched.in_sync(BAD) == everything, seconds=90)
    assert "down" not in sentences(stretched.looked(tmp_path), "failed")


def _written(stretched: Stretched, partition: tuple[str, int]) -> str:
    """Return how one write with acks=all ends that is not tried again."""
    once = {"acks": "all", "message.send.max.retries": 0, "message.timeout.ms": 8000, "log_level": 0}
    producer, ended = Producer({**stretched.cluster.client_settings(ADMIN), **once}), []
    topic, number = partition
    producer.produce(topic, b"x", partition=number, on_delivery=lambda error, _: ended.append(error))
    producer.flush(20)
    return "no answer" if not ended else "written" if ended[0] is None else str(ended[0].name())
