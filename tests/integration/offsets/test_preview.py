"""The archive, the preview and the choices on real clusters, judged by their logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq
import pytest
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.group_offsets import last_look
from kafka_dr.group_offsets.committed_positions import read_positions
from kafka_dr.group_offsets.offset_preview import Preview, look, preview_offsets
from kafka_dr.group_offsets.sync_archive import archive_syncs
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.group_offsets.unmovable_groups import only_offsets_to_move
from kafka_dr.group_offsets.verification import checked_locally
from kafka_dr.positions import SeedPoint
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.readers import GroupsPolicy
from lab import rights
from support import outside_view
from support.kept_map import keep_map
from support.outside_topics import OutsideTopics, member
from support.protection import Protection
from support.share_group import join_share_group
from support.shown_reports import not_shown
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


@pytest.fixture
def group(protection: Protection) -> SwitchedGroup:
    """A group with records, a reader at the head, one far behind, and one that never read on."""
    switching = SwitchedGroup.adopt(protection, records=0)
    protection.produce("east", 600)
    protection.commit("east", f"{protection.name}-slow", switching.at(117, 233))
    protection.commit("east", f"{protection.name}-idle", switching.at(3))
    switching.wait_equal()
    with protection.cluster("east", "admin") as admin:
        ends = admin.topics.last_stable_offsets(switching.at(0, 0))
    protection.commit("east", f"{protection.name}-head", ends)
    return switching


def test_every_group_is_shown_with_mirrormakers_answer_and_nothing_is_changed(group: SwitchedGroup) -> None:
    protection = group.protection
    before = outside_view.committed(protection, "west")
    with protection.clients() as clients:
        assert archive_syncs(group.name, clients).outcome == "ok"
        found = preview_offsets(group.name, clients, folder=f"audits/{group.name}/offsets/east-to-west/one")
    assert isinstance(found, Preview)
    assert found.watched.outcome == "ok", found.watched
    rows = {row["group"]: row for row in found.report["groups"]}
    assert {name.rpartition("-")[2]: row["verdict"] for name, row in rows.items()} == {
        "head": "exact",
        "slow": "exact",
        "idle": "exact",
    }
    assert not_shown("offsets", found.report) == set()
    assert found.report["redelivered"] == 0
    assert found.report["proof"]["state"] == "ok", found.report["proof"]
    assert found.report["mm2_redelivered"] > 0
    assert [row["partition"] for row in found.report["never_committed"]] == [1]
    assert outside_view.committed(protection, "west") == before
    for row in found.report["positions"]:
        place = TopicPartition(row["topic"], row["partition"])
        here = outside_view.next_values(protection, "east", {place: row["source_offset"]})
        assert outside_view.next_values(protection, "west", {place: row["target_offset"]}) == here
    slow = next(row for row in found.report["positions"] if row["group"].endswith("-slow"))
    place, here, there = TopicPartition(slow["topic"], slow["partition"]), slow["source_offset"], slow["target_offset"]
    with protection.clients() as clients:
        basis = basis_of(Run(protection.request("look"), clients))
        late = checked_locally(basis, [(place, SeedPoint(here, there + 1))])
        early = checked_locally(basis, [(place, SeedPoint(here, there - 1))])
    assert (late.outcome, early.outcome) == ("failed", "ok")
    assert f"{here}→{there + 1}" in late.detail
    assert f"1 early: {place} {here}→{there - 1}: " in early.detail
    kept = protection.folder / "evidence" / "audits" / group.name / "offsets" / "east-to-west" / "one" / "report.json"
    assert json.loads(kept.read_text())["redelivered"] == 0


def test_the_archive_grows_by_what_is_new_and_outlives_both_topics(group: SwitchedGroup) -> None:
    protection = group.protection
    with protection.clients() as clients:
        archive_syncs(group.name, clients)
        again = archive_syncs(group.name, clients)
        whole = basis_of(Run(protection.request("look"), clients)).syncs.read({protection.topic})
    assert "0 syncs archived" in again.sentences[0]
    partition = TopicPartition(protection.topic, 0)
    assert len(whole.of(partition).pairs) >= 3
    east, west = (dict(outside_view.contents(protection, cluster))[partition] for cluster in ("east", "west"))
    assert len(east) == len(west)
    folder = Path(protection.folder, "evidence", "offset_syncs", "east-to-west")
    assert [file.suffix for place in folder.iterdir() for file in place.iterdir()] == [".parquet"]


def test_each_group_starts_where_its_owners_chose(protection: Protection) -> None:
    name = protection.name
    choices = {f"{name}-{each}": each for each in ("mm2_checkpoint", "timestamp", "earliest", "latest")}
    protection.changes["groups_policy"] = GroupsPolicy(start_of=choices, timestamp_margin_seconds=0.001)
    group = SwitchedGroup.adopt(protection, records=0)
    protection.produce("east", 600)
    for consumer_group in (*choices, f"{name}-exact"):
        protection.commit("east", consumer_group, group.at(117, 233))
    group.wait_equal()
    request = group.go(StepName.CUT_OVER_GROUPS)
    after = outside_view.committed(protection, "west")
    exact = after[f"{name}-exact"]
    with protection.cluster("west", "admin") as admin:
        ends = admin.topics.high_watermarks(group.at(0, 0))
    assert set(after[f"{name}-earliest"].values()) == {0}
    assert after[f"{name}-latest"] == ends
    for partition, offset in exact.items():
        assert 0 <= after[f"{name}-mm2_checkpoint"][partition] <= offset
        assert 0 <= after[f"{name}-timestamp"][partition] <= offset
    assert sum(exact.values()) > sum(after[f"{name}-mm2_checkpoint"].values())
    group.roll_back(request)


@pytest.mark.parametrize("policy", ["earliest", pytest.param("timestamp", marks=pytest.mark.long)])
def test_an_offset_without_a_translation_becomes_what_the_policy_says(
    group: SwitchedGroup, policy: Literal["earliest", "timestamp"]
) -> None:
    protection, idle = group.protection, f"{group.name}-idle"
    partition = min(group.at(3))
    with AdminClient(protection.lab.client_settings("west", "admin")) as client:
        gone = ClientPartition(partition.topic, partition.partition, 50)
        for deleted in client.delete_records([gone]).values():
            deleted.result(30)

    with protection.clients() as clients:
        record = failed(StepName.PREFLIGHT, group.request(), clients)
    assert f"offsets of {idle} cannot be translated" in record.detail

    protection.changes["groups_policy"] = GroupsPolicy(unknown_offsets=policy)
    moved = group.go(StepName.CUT_OVER_GROUPS)
    assert group.committed("west", idle)[partition] == 50, "of what it has not read, the first that is there"
    with protection.clients() as clients:
        placed = Run(moved, clients).journal["translations"]["positions"]
    said = {(row["group"], row["class"], row["skipped_at_most"]) for row in placed if row["group"] == idle}
    assert said == {(idle, "declared", None)}
    group.roll_back(moved)


def test_the_map_is_exported_for_who_keeps_positions_elsewhere_and_what_it_lacks_is_named(
    protection: Protection,
) -> None:
    protection.changes["groups_policy"] = GroupsPolicy(external_offsets=(f"{protection.name}-lake",))
    group = SwitchedGroup.adopt(protection, records=0)
    protection.produce("east", 60)
    group.wait_equal()
    first, second = group.at(0, 0)
    folder = protection.folder / "evidence" / "audits" / group.name
    keep_map(folder / "checksum" / "east-to-west", protection, {first: [OffsetRun(0, 0, 20)]})
    with protection.clients() as clients:
        found = preview_offsets(group.name, clients, folder=f"audits/{group.name}/offsets/east-to-west/one")
    assert isinstance(found, Preview)
    report = json.loads((folder / "offsets" / "east-to-west" / "one" / "report.json").read_text())
    assert report["external_offsets"] == [{"consumer": f"{group.name}-lake"}]
    lacking = {(row["topic"], row["partition"]): row["reason"] for row in report["not_exported"]}
    assert lacking[second.topic, second.partition] == "no audit has matched it yet"
    assert (first.topic, first.partition) not in lacking
    place = folder / "offsets" / "east-to-west" / "one"
    assert (place / "offset_map.csv").read_text().splitlines()[1:] == [f"{first.topic},0,0,0,20"]
    assert pq.read_table(place / "offset_map.parquet").num_rows == 1


def test_a_group_that_may_not_be_read_is_named(group: SwitchedGroup) -> None:
    protection = group.protection
    hidden = f"{group.name}-slow"
    deny = Acl(
        resource=ResourceType.GROUP,
        name=hidden,
        pattern=PatternType.LITERAL,
        principal=f"User:{rights.OPERATOR}",
        operation=AclOperation.ALL,
        permission=AclPermission.DENY,
    )
    with protection.cluster("east", "admin") as admin:
        admin.acls.add([deny])
        try:
            with protection.clients() as clients:
                found = look(Run(protection.request("look"), clients))
        finally:
            admin.acls.remove([deny])
    assert found.watched.outcome == "failed"
    assert any(hidden in sentence and "cannot be read" in sentence for sentence in found.watched.sentences)
    assert hidden in " ".join(found.blocking), "a preflight has to stop for it"


def test_many_groups_are_read_in_as_few_requests_as_one(group: SwitchedGroup) -> None:
    protection = group.protection

    def asked() -> tuple[int, int]:
        """Return the number of requests, and of groups that were read."""
        doing: list[str] = []
        with protection.clients() as clients:
            run = Run(protection.request("look"), clients)
            for role in ("operator", "audit"):
                clients.cluster("east", role).observe(doing.append)
            found, problems = read_positions(run)
        assert not problems
        return len(doing), len(found)

    one = asked()
    for number in range(20):
        protection.commit("east", f"{protection.name}-more-{number}", group.at(1, 2))
    many = asked()
    assert many[1] == one[1] + 20
    assert many[0] <= one[0]


def test_what_groups_read_outside_the_protection_group_is_shown_and_red_until_the_policy_leaves_it_out(
    group: SwitchedGroup,
) -> None:
    protection = group.protection
    beyond, folder = OutsideTopics.create(protection, "east"), f"audits/{group.name}/offsets/east-to-west"
    beyond.commit("east", f"{group.name}-slow", beyond.of_neighbour, 1, 2)
    with (
        member(protection, "east", f"{group.name}-idle", protection.topic, beyond.of_nobody),
        protection.clients() as w,
    ):
        refused = preview_offsets(group.name, w, folder=f"{folder}/refused")
        beyond.leave_out()
    with protection.clients() as clients:
        left = preview_offsets(group.name, clients, folder=f"{folder}/left")
    assert isinstance(refused, Preview)
    assert isinstance(left, Preview)
    assert [tuple(row.values()) for row in refused.report["read_elsewhere"]] == [
        (f"{group.name}-idle", beyond.of_nobody, "", 0, True, "refused"),
        (f"{group.name}-slow", beyond.of_neighbour, beyond.neighbour, 2, False, "refused"),
    ]
    assert refused.watched.outcome == "failed"
    assert f"{group.name}-slow reads {beyond.of_neighbour} (2 positions)" in refused.watched.sentences[-1]
    assert [row["state"] for row in left.report["read_elsewhere"]] == ["left_out"]
    assert left.watched.outcome == "ok"
    assert "are left out by policy" in left.watched.sentences[-1]


def test_a_share_group_is_refused_by_name_and_never_passed_over(group: SwitchedGroup) -> None:
    protection = group.protection
    shared = f"{group.name}-shared"
    with protection.clients() as clients:
        reading = clients.cluster("east", "operator").group_reading
        join_share_group(
            protection.lab,
            "east",
            shared,
            topic=protection.topic,
            folder=protection.folder,
            is_known=lambda: reading.shared([shared])[shared] == frozenset({protection.topic}),
        )
        found = look(Run(protection.request("look"), clients))
        kept = last_look.look(Run(protection.request("look"), clients), active="east", standby="west", epoch=1)
        read = reading.shared([shared, f"{group.name}-none"])
    # What it reads has to be shown although it has no offsets, in case it is not declared.
    assert read == {shared: {protection.topic}, f"{group.name}-none": frozenset()}
    assert found.watched.outcome == "failed"
    assert any(f"{shared} is a share group" in sentence for sentence in found.watched.sentences)
    # The approval of a failover from a dead source shows it, too.
    assert [shared in sentence for sentence in kept.more_than_offsets] == [True]
    assert [(row["group"], row["state"]) for row in found.report["not_moved"]] == [(shared, "refused")]
    # It has no offset to move, and nothing is known against the others.
    assert shared not in {row["group"] for row in found.report["groups"]}
    assert found.blocking == ()


@pytest.mark.long
def test_a_streams_application_is_refused_until_somebody_takes_care_of_it(group: SwitchedGroup) -> None:
    protection = group.protection
    topic = f"{group.name}-slow-counts-changelog"
    with protection.cluster("east", "admin") as admin:
        admin.topics.create(topic, partitions=1, replication_factor=1, config={})
    with protection.clients() as clients:
        record = failed(StepName.PREFLIGHT, protection.request("run-streams"), clients)
    refused = {check.name: check for check in record.checks}["only_offsets_to_move"]
    assert refused.outcome == "failed"
    assert f"{group.name}-slow is a Kafka Streams application" in refused.detail
    with protection.changed(groups_policy=GroupsPolicy(streams_moved=(f"{group.name}-slow",))):
        with protection.clients() as clients:
            own = only_offsets_to_move(Run(protection.request("look"), clients))
        # Its name shows it, and it is no topic of the group: its state would not be there.
        assert (own.outcome, f"add its internal topics ({topic})" in own.detail) == ("failed", True)
    protection.changes["groups_policy"] = GroupsPolicy(not_moved=(f"{group.name}-slow",))
    with protection.clients() as clients:
        left = only_offsets_to_move(Run(protection.request("look"), clients))
    assert left.outcome == "excused", "an approver has to see it"
    assert "its offsets are not moved" in left.detail
    moved = group.go(StepName.CUT_OVER_GROUPS)
    after = outside_view.committed(protection, "west")
    assert f"{group.name}-idle" in after
    assert f"{group.name}-slow" not in after, "a moved offset alone would count records twice or never"
    group.roll_back(moved)
