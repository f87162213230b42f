"""Somebody who may write the evidence storage raises a frontier and bends an offset map: a switch does not use them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.audit import FileFrontierStore
from kafka_dr.audit.kept_frontier import FrontierPoint, KeptFrontier
from kafka_dr.checks.input_checks import inputs_recorded
from kafka_dr.checks.recorded_audits import drop_unrecorded, record_inputs
from kafka_dr.failover.runner import run_step
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.recorded_inputs import InputKind, RecordedInput
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
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
