"""What Airflow's tasks keep of their settings and files is good, wrong, or unknown with the command that asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from kafka_dr.doctor.airflow_answers import examine_airflow
from kafka_dr.doctor.finding import SetUpFinding, of_check
from kafka_dr.errors import Refused
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, ReadyVerb, VerbReadiness
from kafka_dr.readiness_checks.airflow_checks import VERSIONS
from kafka_dr.readiness_checks.look import SEEN, seen_here
from kafka_dr.runs.clients import Clients
from kafka_dr.set_up.airflow_options import SETTINGS
from kafka_dr.topology.loading import load
from kafka_dr.watch_results import KeptResult, WatchResultStore
from support.manual_clock import ManualClock
from support.no_connections import NO_CONNECTIONS
from support.sentences import assert_sentence

_FILE = Path(__file__).parents[3] / "include" / "topology.yaml"


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    environ = {f"KAFKA_DR_LAB_{name}": "127.0.0.1:1" for name in ("EAST", "WEST", "VANTAGE")}
    topology = load(_FILE, {**environ, "KAFKA_DR_LAB_HOME": str(tmp_path)})
    return Clients(
        topology, connections=replace(NO_CONNECTIONS, http=_absent), evidence_root=tmp_path, clock=ManualClock()
    )


def _absent(connection: str) -> HttpEndpoint:
    raise Refused(f"connection {connection} is not known")


def keep(
    clients: Clients,
    checks: Mapping[str, Check],
    *,
    age: timedelta = timedelta(minutes=3),
    seen: Mapping[str, str] | None = None,
) -> None:
    """Keep what a task of Airflow found."""
    rows = tuple(ReadinessCheck(check.name, check.outcome, check.detail) for check in checks.values())
    verbs = [VerbReadiness(verb, rows) for verb in get_args(ReadyVerb)]
    facts = {**facts_of(verbs), SEEN: {**seen_here("orders", clients), **(seen or {})}}
    kept = KeptResult("orders", "readiness", "ok", (), clients.clock.now() - age, facts=facts)
    WatchResultStore(clients.evidence_root).keep_round("readiness", [kept], declared=["orders"])


def good() -> dict[str, Check]:
    return {option.check: option.judged(option.good) for option in SETTINGS}


def open_of(clients: Clients) -> dict[str, SetUpFinding]:
    """Return what is not good, without what the absent API leaves unknown."""
    found = {each.name: each for each in examine_airflow(clients) if each.outcome != "ok"}
    assert found.pop("api").outcome == "unknown"
    return found


def test_an_airflow_that_cannot_be_asked_is_unknown_and_says_how_to_leave_it_out(clients: Clients) -> None:
    api = next(each for each in examine_airflow(clients) if each.name == "api")
    assert api.outcome == "unknown"
    assert_sentence(api.detail)


def test_a_task_that_kept_good_settings_and_sees_the_same_files_is_good(clients: Clients) -> None:
    keep(clients, good())
    assert open_of(clients) == {}


@pytest.mark.parametrize("option", SETTINGS, ids=lambda each: each.option)
def test_each_setting_that_is_missing_is_wrong_with_the_variable_that_sets_it(clients: Clients, option: object) -> None:
    bad = next(each for each in SETTINGS if each is option)
    keep(clients, {**good(), bad.check: bad.judged("")})
    found = open_of(clients)
    assert {name: each.outcome for name, each in found.items()} == {bad.check: "failed"}
    (command,) = found[bad.check].commands
    assert command.startswith(f"export {bad.variable}=")
    assert bad.judged(command.partition("=")[2].strip("'")).outcome == "ok"


def test_a_setting_that_no_task_kept_is_unknown(clients: Clients) -> None:
    some = good()
    del some["airflow_parallelism"]
    keep(clients, some)
    assert {name: each.outcome for name, each in open_of(clients).items()} == {"airflow_parallelism": "unknown"}


@pytest.mark.parametrize(("age", "known"), [(timedelta(minutes=3), True), (timedelta(days=2), False)])
def test_old_settings_and_none_are_unknown_with_the_command_that_asks(
    clients: Clients, age: timedelta, known: bool
) -> None:
    assert open_of(clients)["settings"].commands == ("airflow dags trigger dr_readiness",)
    keep(clients, good(), age=age)
    found = open_of(clients)
    assert ("settings" in found) is not known
    assert_sentence(each.detail for each in found.values())


@pytest.mark.parametrize("what", ["topology", "route"])
def test_a_worker_that_sees_another_file_is_named(clients: Clients, what: str) -> None:
    keep(clients, good(), seen={what: "another"})
    found = open_of(clients)
    assert {name: each.outcome for name, each in found.items()} == {f"shares {what}": "failed"}
    assert_sentence(found[f"shares {what}"].detail)


def test_the_versions_are_those_of_the_requirements() -> None:
    first, below = (".".join(map(str, each)) for each in VERSIONS)
    lines = (Path(__file__).parents[3] / "requirements.txt").read_text().splitlines()
    assert any(line.startswith(f"apache-airflow>={first},<{below} ") for line in lines)


@pytest.mark.parametrize(
    ("outcome", "found"),
    [("ok", "ok"), ("warning", "failed"), ("failed", "failed"), ("excused", "unknown"), ("unknown", "unknown")],
)
def test_what_a_run_may_continue_without_is_not_good_here(outcome: CheckOutcome, found: str) -> None:
    seen = of_check("east", Check("rights", outcome, "said"), "command")
    assert (seen.outcome, seen.commands) == (found, () if found == "ok" else ("command",))
