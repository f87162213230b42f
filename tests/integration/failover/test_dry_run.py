"""A dry run checks everything, says what each step would do, and changes nothing."""

from __future__ import annotations

import re

import pytest

from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


def test_a_dry_run_says_what_every_step_would_do_and_changes_nothing(group: SwitchedGroup) -> None:
    source, target = group.active, group.standby
    request = group.request(dry_run=True)
    before = outside_view.look(group.protection)
    ends = outside_view.contents(group.protection, target)

    with group.protection.clients() as clients:
        records = {step: run_step(step, request, clients) for step in (StepName.PREFLIGHT, *STEPS_AFTER_APPROVAL)}

    assert {record.outcome for record in records.values()} == {"would_do"}
    assert outside_view.look(group.protection) == before
    assert outside_view.contents(group.protection, target) == ends
    for step, said in {
        StepName.CLAIM: f"this run is switching {group.name} (epoch ",
        StepName.FENCE_SOURCE: f"deny WRITE on {source} to User:orders-app, User:billing-app, then to User:probe",
        StepName.STOP_FLOW: f"stop dr.{group.name}.{source}-to-{target} and deny WRITE on {target}",
        StepName.OPEN_TARGET: target,
        StepName.FLIP_ROUTE: f"let the route of {group.name} name {target}",
        StepName.START_REVERSE_FLOW: f"settle the register: stable, active on {target}",
    }.items():
        assert said in records[step].summary(), records[step].summary()
    about = f"dry run of a planned failover of {group.name}, {source} → {target}: nothing was changed"
    assert all(record.detail.startswith(about) for record in records.values())
    shown = records[StepName.PREFLIGHT]
    assert f"A real run would lose no record: {target} is opened only when every record is found there" in shown.detail
    assert "Writes would stop for: " in shown.detail
    assert re.search(r"Consumer groups: all \d+ resume exactly and read nothing again", shown.detail), shown.detail
    assert shown.facts["digest"]
    page = group.protection.clients().evidence.page(group.name, request.run)
    assert page is not None
    assert f"Dry run of a planned failover of {group.name}, {source} → {target}" in page
    assert all("would: " in record.summary() for record in records.values())


def test_a_dry_run_is_refused_where_the_run_would_be(group: SwitchedGroup) -> None:
    request = group.request(source=group.standby, target=group.active, dry_run=True)

    with group.protection.clients() as clients:
        record = failed(StepName.PREFLIGHT, request, clients)

    assert record.outcome == "refused"
    assert f"is active on {group.active}, not on {group.standby}" in record.detail
