"""A share group is moved by the commands that the report of a failover shows, and skips no record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.group_offsets.last_look import kept
from kafka_dr.group_offsets.last_look import look as look_at_source
from kafka_dr.group_offsets.reset_commands import CLIENT_FILE
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.readers import GroupsPolicy
from support import outside_view
from support.kafka_tools import run_as_printed, tools_in
from support.protection import Protection
from support.share_group import begin_at_the_start
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka
_SECONDS = 60


@pytest.mark.long
def test_a_share_group_that_is_reset_as_the_report_says_gets_every_record_that_was_not_done_with(
    protection: Protection, tmp_path: Path
) -> None:
    shared = f"{protection.name}-workers"
    protection.changes["groups_policy"] = GroupsPolicy(not_moved=(shared,))
    group = SwitchedGroup.adopt(protection, records=0)
    tools = tools_in(tmp_path / "bin")
    for cluster in ("east", "west"):
        folder = tmp_path / cluster
        folder.mkdir()
        settings = protection.lab.home.client(cluster, "admin").with_suffix(".java.properties")
        (folder / CLIENT_FILE).write_text(settings.read_text())

    def read(cluster: str, messages: int, seconds: int = 30) -> set[str]:
        servers = protection.lab.client_settings(cluster, "admin")["bootstrap.servers"]
        said = run_as_printed(
            f"kafka-console-share-consumer.sh --bootstrap-server {servers} --command-config {CLIENT_FILE} --topic "
            f"{protection.topic} --group {shared} --max-messages {messages} --timeout-ms {1000 * seconds}",
            tools,
            tmp_path / cluster,
        )
        return {line for line in said.splitlines() if line}

    def starts(cluster: str) -> dict[TopicPartition, int | None]:
        with protection.cluster(cluster, "admin") as admin:
            found = admin.group_reading.share_starts([shared])[shared]
        assert isinstance(found, dict), found
        return found

    begin_at_the_start(protection.lab, "east", shared)
    # The two halves are of different milliseconds, and the tool knows times only.
    for _ in range(2):
        protection.produce("east", 20, partitions=1)
    group.wait_equal()
    done = read("east", 25)
    wait_until(lambda: sum(filter(None, starts("east").values())) >= 25)
    with protection.clients() as clients:
        run = Run(protection.request("look"), clients)
        look_at_source(run, active="east", standby="west", epoch=1)
        seen = kept(run, source="east", target="west")
    assert seen is not None
    begun = {p: at for p, at in starts("east").items() if at is not None}
    assert seen.share_starts[shared] == begun

    request = group.go(StepName.REPORT)
    evidence = protection.folder / "evidence" / "runs" / group.name / request.run
    (report,) = evidence.glob("*-report.1.json")
    rows = json.loads(report.read_text())["facts"]["left_to_do"]
    commands = [row["command"] for row in rows]
    assert {row["reader"] for row in rows} == {shared}
    assert all(command.startswith("kafka-share-groups.sh ") for command in commands)
    protection.produce("west", 10, partitions=1)
    run_as_printed("\n".join(commands), tools, tmp_path / "west")
    # More than there are: it ends when nothing has come for so long.
    again = read("west", 1_000, seconds=8)
    later = {
        str((content[2] or b"").decode())
        for p, log in outside_view.contents(protection, "west").items()
        for content in log
        if p.topic == protection.topic
    }
    assert len(later) == 50
    assert later <= again | done, "a record was skipped"
    assert len(again & later) <= 30, "what was done with comes again only from the same millisecond on"
    blank = starts("east").keys() - begun.keys()
    assert any("has not done with any record" in row["to_do"] for row in rows) is bool(blank)
    said = "\n".join(commands)
    assert all(f"{p.topic}:{p.partition} --to-datetime" in said for p in begun)
    assert all(f"{p.topic}:{p.partition} --to-earliest" in said for p in blank)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not so after {_SECONDS} s"
        time.sleep(0.5)
