"""Somebody who may write the evidence storage raises a frontier and bends an offset map: a switch does not use them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier
from kafka_dr.audit.recorded_input import InputKind, RecordedInput
from kafka_dr.checks.input_checks import inputs_recorded
from kafka_dr.checks.recorded_audits import drop_unrecorded, record_inputs
from kafka_dr.failover.unplanned import last_known
from kafka_dr.group_offsets import last_look
from kafka_dr.group_offsets.sync_archive import archive_of, archive_syncs
from kafka_dr.offsets.syncs.files import SyncRow
from kafka_dr.offsets.syncs.history import ArchivedSync
from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.positions import OffsetPair
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import run_step
from support.protection import Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def test_a_frontier_and_an_offset_map_that_others_wrote_are_refused_until_an_audit_begins_again(
    protection: Protection,
) -> None:
    group = SwitchedGroup.adopt(protection)
    evidence, direction = protection.folder / "evidence", f"{group.active}-to-{group.standby}"
    frontier = RecordedInput(InputKind.FRONTIER, group.name, direction)
    state = RecordedInput(InputKind.OFFSET_MAP, group.name, direction)
    with protection.clients() as clients:
        run_step(StepName.PREFLIGHT, group.request(), clients)
        kept = FileFrontierStore(evidence, group.name).read(direction)
        assert kept is not None
        _raise_frontier(evidence, group.name, direction, kept)
        _refused(group, clients, frontier.file)
        assert [each.what for each in drop_unrecorded(clients, group.flow)] == [frontier]
        run_step(StepName.PREFLIGHT, group.request(), clients)

        part = _stored_map(evidence, state)
        record_inputs(clients, group.flow)
        run_step(StepName.PREFLIGHT, group.request(), clients)
        part.write_text(part.read_text().replace("[0,0,10]", "[0,5,10]"))
        _refused(group, clients, state.file)
        _not_read_where_the_source_is_dead(group.request(verb="unplanned_failover"), clients, state)
        drop_unrecorded(clients, group.flow)
        assert not part.exists()
        run_step(StepName.PREFLIGHT, group.request(), clients)


def test_last_looks_pairs_and_syncs_without_a_digest_in_the_register_are_not_read(protection: Protection) -> None:
    group = SwitchedGroup.adopt(protection)
    direction, root = f"{group.active}-to-{group.standby}", protection.folder / "evidence"
    request = group.request(verb="unplanned_failover")
    with protection.clients() as clients:
        run = Run(request, clients)
        seen = last_look.look(run, active=group.active, standby=group.standby, epoch=1)
        assert archive_syncs(group.name, clients).outcome == "ok"
        run_step(StepName.PREFLIGHT, group.request(), clients)
        kept = _read(clients, request)
        assert kept[0] == seen.groups
        assert all(kept)
        before = {path for path, *_ in Run(request, clients).read_inputs()["files"]}

        # Everybody has read everything, and a pair says that the copy of the first record is the last one.
        late = {name: dict.fromkeys(offsets, 10_000) for name, offsets in seen.groups.items()}
        last_look.FileLookStore(root, group.name).write(direction, replace(seen, groups=late))
        (partition, *_) = seen.ends
        about, pair = (partition.topic, partition.partition), OffsetPair(0, 9)
        AnchorCache(root, group.name).write(direction, CachedPairs({partition.topic: ("a", "b")}, {about: (pair,)}))
        archive = archive_of(group.active, group.standby, clients, root=root)
        (generation,) = (root / "offset_syncs" / direction).iterdir()
        row = SyncRow(partition, ArchivedSync(10**6, 0, 9, 10**15), ("", ""))
        archive.extend(generation.name, [row], first=10**6, end=10**6 + 1)

        assert _read(clients, request) == ({}, {}, kept[2])
        assert before - {path for path, *_ in Run(request, clients).read_inputs()["files"]} == {
            f"last_looks/{group.name}/{direction}.json",
            f"offset_pairs/{group.name}/{direction}.json",
        }
        check = inputs_recorded(Run(request, clients), changed="excused")
        assert check.outcome == "excused"
        assert f"last_looks/{group.name}/{direction}.json (recorded otherwise at 2" in check.detail
        assert inputs_recorded(Run(group.request(), clients)).outcome == "warning"

        # They are written again from the clusters, and the archive is not continued after what others wrote.
        assert archive_syncs(group.name, clients).outcome == "ok"
        last_look.look(run, active=group.active, standby=group.standby, epoch=1)
        run_step(StepName.PREFLIGHT, group.request(), clients)
        assert _read(clients, request) == (seen.groups, *kept[1:])
        check = inputs_recorded(Run(request, clients), changed="excused")
        assert (check.outcome, "(never recorded)" in check.detail) == ("ok", True)


def _read(clients: Clients, request: RunRequest) -> tuple[Any, Any, Any]:
    """Return what a failover without the source would take: the groups' offsets, the pairs and the archived syncs."""
    run = Run(request, clients)
    pairs = AnchorCache(run.evidence_root, run.group.name).read(f"{run.source}-to-{run.target}")
    archive = archive_of(run.source, run.target, clients, root=run.evidence_root)
    syncs = archive.read({p.topic for p in run.partitions(run.target)}).syncs
    return last_known.positions(run).groups, pairs.offsets, syncs


def _raise_frontier(evidence: Path, group: str, direction: str, kept: KeptFrontier) -> None:
    """Say that everything was compared, also what nobody has written yet."""
    points = {about: FrontierPoint(10_000, 10_000) for about in kept.points}
    FileFrontierStore(evidence, group).write(direction, KeptFrontier(kept.identity, kept.topic_ids, points))


def _stored_map(evidence: Path, state: RecordedInput) -> Path:
    """Store a state of the audits and a part of the map, as a Spark job does."""
    file, part = evidence / state.file, evidence / state.folder / "part.jsonl"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text('[1,"a","b","orders.a",0,[[0,0,10]]]\n')
    file.write_text(json.dumps({"identity": ["a", "b", 1], "maps": ["part"], "partitions": []}))
    return part


def _refused(group: SwitchedGroup, clients: Clients, file: str) -> None:
    record = failed(StepName.PREFLIGHT, group.request(), clients)
    assert record.outcome == "unknown"
    assert f"({file}) is not the one that was recorded in the register at {datetime.now(UTC):%Y-}" in record.detail
    assert "run dr_checksum_audit, which compares everything again" in record.detail


def _not_read_where_the_source_is_dead(request: RunRequest, clients: Clients, state: RecordedInput) -> None:
    """A disaster does not wait for it: the run is not stopped, and does not see the file."""
    run = Run(request, clients)
    assert inputs_recorded(run, changed="excused").outcome == "excused"
    with pytest.raises(FileNotFoundError):
        run.evidence_root.joinpath(*state.file.split("/")).read_bytes()
    assert state.file not in {path for path, *_ in run.read_inputs()["files"]}
