"""Every file of the DAG folder is known, loads, and says what it is for."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset
from airflow.sdk.exceptions import ParamValidationError
from croniter import croniter_range

from kafka_dr.watch_results import WATCHES, Watch
from kafka_dr_airflow.operators.rounds import RUN_ENDED
from lab.bench.many_groups import written as many_groups_declared
from lab.bench.parsed import parsed

#: Every DAG, and the cron expression by which Airflow starts it by itself.
CATALOGUE = {
    "dr_adopt": None,
    "dr_canary": "* * * * *",
    "dr_checksum_audit": "3-59/15 * * * *",
    "dr_config_sync": "4-59/10 * * * *",
    "dr_conflict_audit": None,
    "dr_drill": None,
    "dr_failback": None,
    "dr_flows": "1-59/5 * * * *",
    "dr_health": "* * * * *",
    "dr_lag_audit": "*/5 * * * *",
    "dr_notifications": "* * * * *",
    "dr_observe": None,
    "dr_offset_syncs": "2-59/5 * * * *",
    "dr_offsets": "9-59/30 * * * *",
    "dr_planned_failover": None,
    "dr_readiness": "6-59/10 * * * *",
    "dr_resume": None,
    "dr_stretch": None,
    "dr_un_adopt": None,
    "dr_unplanned_failover": None,
}
DAG_IDS = sorted(CATALOGUE)
#: Scheduled, and a Spark application for many groups.
BY_SPARK = {"dr_checksum_audit", "dr_lag_audit"}
#: Scheduled, and waiting for people: the next look must not wait for them.
OVERLAPPING = {"dr_config_sync"}
#: Scheduled, and no look at a protection group.
ABOUT_NO_GROUP = {"dr_notifications"}

#: What costs a task hundreds of milliseconds to import, or talks to Kafka; operators import it when they run.
HEAVY = {
    "confluent_kafka",
    "kafka",
    "httpx",
    "requests",
    "aiohttp",
    "fastapi",
    "jinja2.ext",
    "kafka_dr.runs.run",
    "kafka_dr.runs.group_context",
}


def test_the_folder_holds_these_dags_and_a_runbook_for_each(dags_folder: Path) -> None:
    files = {path.name for path in dags_folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    assert files == {f"{dag_id}{ending}" for dag_id in CATALOGUE for ending in (".py", ".md")}


def test_every_file_loads_and_holds_the_dag_of_its_name(bag: Any, dags_folder: Path) -> None:
    assert bag.import_errors == {}
    assert {dag_id: Path(dag.fileloc).name for dag_id, dag in bag.dags.items()} == {
        dag_id: f"{dag_id}.py" for dag_id in CATALOGUE
    }


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_a_dag_shows_its_runbook(bag: Any, dags_folder: Path, dag_id: str) -> None:
    shown, way = bag.dags[dag_id].doc_md, "[DR status](/kafka-dr/status)"
    title, _, rest = (dags_folder / f"{dag_id}.md").read_text(encoding="utf-8").partition("\n")
    assert (shown.startswith(f"{title}\n\n{way}: "), shown.endswith(f"\n{rest}")) == (True, True)
    assert shown.startswith("# ")
    assert "red" in shown


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_a_dag_says_what_it_does_and_can_be_found(bag: Any, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert dag.description.endswith(".")
    assert "kafka-dr" in dag.tags


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_a_dag_runs_when_it_is_meant_to_and_never_for_the_past(bag: Any, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert clock_of(dag) == CATALOGUE[dag_id]
    assert dag.catchup is False
    if dag.schedule:
        assert (dag.max_active_runs == 1) == (dag_id not in OVERLAPPING)


def clock_of(dag: Any) -> str | None:
    """Return the cron expression of a DAG, also of one that has other reasons to start."""
    found = getattr(dag.schedule, "timetable", None)
    cron: str | None = found.expression if found else dag.schedule
    return cron


def test_what_changed_is_sent_after_each_look_of_health_and_no_notifier_can_hold_up_the_next_look(bag: Any) -> None:
    health, sends = bag.dags["dr_health"], bag.dags["dr_notifications"]
    (seen,) = (each for each in health.get_task("look").outlets if isinstance(each, Asset))
    assert sends.schedule.asset_condition.objects == (seen,)
    assert {task.task_id for task in health.tasks} == {"look", "red", "propose"}
    # A run by the clock and one after health, each with a notifier that hangs.
    assert 2 * sends.get_task("notify").execution_timeout.total_seconds() < 60


def test_readiness_is_asked_again_after_the_end_of_a_run_and_of_a_drill(bag: Any) -> None:
    asked = bag.dags["dr_readiness"].schedule.asset_condition.objects
    assert asked == (RUN_ENDED,)
    # An alias, as a plain outlet would be updated by every look.
    assert not {each.name for each in asked} & {each.name for each in bag.dags["dr_health"].get_task("look").outlets}
    # The teardown ends well also if the drill did not pass.
    assert tuple(bag.dags["dr_drill"].get_task("teardown").outlets) == asked


def test_a_health_check_ends_before_the_next_one_starts(bag: Any) -> None:
    from kafka_dr.health.health_check import CHECK_SECONDS

    looks = [task for task in bag.dags["dr_health"].tasks if task.task_id in ("look", "propose")]
    assert {task.execution_timeout.total_seconds() for task in looks} == {55.0}
    assert CHECK_SECONDS + 10 <= 55


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_every_task_but_the_approval_ends_some_time_and_says_how_often_it_is_tried(bag: Any, dag_id: str) -> None:
    for task in bag.dags[dag_id].tasks:
        assert (task.execution_timeout is None) == (task.task_id in ("approval", "second_approval"))
        assert task.retries is not None


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_every_parameter_is_named_and_explained(bag: Any, dag_id: str) -> None:
    params = bag.dags[dag_id].params
    for name in params:
        param = params.get_param(name)
        assert param.schema["title"], name
        assert param.description.endswith("."), name


def test_the_dags_are_listed_in_the_order_in_which_people_need_them(bag: Any) -> None:
    """What somebody on call starts, then the checks that run by themselves, then what sets a group up."""
    first = ["dr_readiness", "dr_planned_failover", "dr_unplanned_failover", "dr_failback", "dr_resume", "dr_drill"]
    listed = sorted(bag.dags, key=lambda dag_id: bag.dags[dag_id].dag_display_name)
    assert listed[:6] == first
    assert listed[-2:] == ["dr_adopt", "dr_un_adopt"]
    assert {dag_id for dag_id, dag in bag.dags.items() if "on call" in dag.tags} == set(first[:3])
    named = {f"dr_{re.sub('[- ]', '_', dag.dag_display_name.partition(': ')[2])}" for dag in bag.dags.values()}
    assert named == set(bag.dags)


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_the_grid_of_airflow_shows_the_steps_in_the_order_of_the_run_and_what_undoes_it_at_the_end(
    bag: Any, dag_id: str
) -> None:
    """As its server sorts the tasks: it reads them back by name."""
    from airflow.api_fastapi.core_api.services.ui.task_group import task_group_to_dict_grid
    from airflow.serialization.serialized_objects import DagSerialization

    dag = bag.dags[dag_id]
    grid = task_group_to_dict_grid(DagSerialization.from_dict(DagSerialization.to_dict(dag)).task_group)
    order = [each["id"] for each in grid["children"]]
    numbers = [re.match(r"\d+", dag.get_task(each).task_display_name) for each in order if dag.has_task(each)]
    steps = [int(each[0]) for each in numbers if each]
    assert steps == sorted(steps)
    last = [each for each in ("roll_back", "give_back", "outcome") if each in order]
    assert order[len(order) - len(last) :] == last


@pytest.mark.parametrize(
    ("dag_id", "name", "value"),
    [
        ("dr_planned_failover", "protection_group", "nobody"),
        ("dr_planned_failover", "target", "mars"),
        ("dr_unplanned_failover", "source", "mars"),
        ("dr_planned_failover", "reason", "     "),
        ("dr_planned_failover", "begin_at", "yesterday"),
        ("dr_unplanned_failover", "begin_at", "2026-11-27T04:03:00"),
        ("dr_unplanned_failover", "begin_positions", "some"),
        ("dr_drill", "protection_group", "nobody"),
        ("dr_drill", "kind", "unknown"),
        ("dr_failback", "mode", "delete"),
        ("dr_resume", "run", "two words"),
        ("dr_checksum_audit", "topics", ["no topic/name"]),
        ("dr_checksum_audit", "flow", "orders.east-to-east"),
        ("dr_checksum_audit", "offsets", ["orders.records"]),
    ],
)
def test_a_form_refuses_what_cannot_be_before_a_task_starts(bag: Any, dag_id: str, name: str, value: object) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError):
        bag.dags[dag_id].params.get_param(name).resolve(value)


def test_the_forms_of_the_status_page_have_the_parameters_and_choices_of_their_dags(bag: Any) -> None:
    from kafka_dr.evidence.trigger_view import FORMS, trigger_fields

    for dag_id in FORMS:
        params = bag.dags[dag_id].params
        fields = trigger_fields(dag_id, ("east", "west"), active="east", standby="west")
        assert {"protection_group", *(each.name for each in fields)} == set(params), dag_id
        for each in fields:
            schema = params.get_param(each.name).schema
            assert (schema["type"] == "boolean") == (each.kind == "flag"), each.name
            offered = {value or None for value, _ in each.choices}
            assert not offered or offered == set(schema["enum"]), each.name
            assert each.least == schema.get("minLength", 0), each.name


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_the_first_task_refuses_unknown_parameters_and_no_other_task_starts_with_it(bag: Any, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    (first,) = dag.roots
    last_try = SimpleNamespace(try_number=1, max_tries=0)
    context = {"dag": dag, "dag_run": SimpleNamespace(conf={"dryrun": True}), "params": {}, "ti": last_try}
    # The log of a last try ends with the sentence alone, without a traceback: see fails_plainly.
    with pytest.raises(SystemExit, match=f"{dag_id} was triggered with a parameter that it does not have"):
        first.pre_execute(context)
    first.pre_execute({**context, "dag_run": SimpleNamespace(conf=None)})


def test_a_later_task_does_not_refuse_what_an_earlier_version_took(planned: Any) -> None:
    context = {"dag": planned, "dag_run": SimpleNamespace(conf={"dryrun": True}), "params": {}}
    for task_id in ("switch", "verify", "report", "roll_back"):
        planned.get_task(task_id).pre_execute(context)


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_no_parameter_takes_a_value_of_another_type(bag: Any, dag_id: str) -> None:
    params = bag.dags[dag_id].params
    for name in params:
        kinds = params.get_param(name).schema["type"]
        wrong: list[Any] = [7, {"true": True}, [7] if "array" in kinds else ["x"]]
        for value in wrong + (["true", "false", 1, None] if kinds == "boolean" else []):
            with pytest.raises(ParamValidationError):
                copy(params.get_param(name)).resolve(value)


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_an_optional_text_is_none_by_default_because_airflows_form_refuses_an_empty_one(bag: Any, dag_id: str) -> None:
    params = bag.dags[dag_id].params
    for name in params:
        if params.get_param(name).schema["type"] == "string":
            assert params.get_param(name).value != "", name
        elif "null" in params.get_param(name).schema["type"]:
            assert params.get_param(name).value is None, name


def test_forms_offer_what_the_topology_declares(bag: Any) -> None:
    params = bag.dags["dr_planned_failover"].params
    assert params.get_param("protection_group").schema["enum"] == ["orders"]
    assert params["protection_group"] == "orders"
    for end in ("source", "target"):
        assert params.get_param(end).schema["enum"] == [None, "east", "west"]
        assert params[end] is None


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({}, id="no topology is named"),
        pytest.param({"KAFKA_DR_TOPOLOGY": "/nowhere/topology.yaml"}, id="there is no such file"),
        pytest.param({"KAFKA_DR_TOPOLOGY": __file__}, id="the file is no topology"),
    ],
)
def test_dags_load_with_free_text_where_the_topology_cannot_be_read(
    parse: Callable[[dict[str, str]], Any], broken: dict[str, str]
) -> None:
    bag = parse(broken)
    assert bag.import_errors == {}
    assert sorted(bag.dags) == DAG_IDS
    for dag_id in ("dr_adopt", "dr_planned_failover", "dr_resume"):
        param = bag.dags[dag_id].params.get_param("protection_group")
        assert "enum" not in param.schema
        assert "cannot be read" in param.description


def test_no_dag_is_paused_for_being_red_whatever_airflow_is_set_to(
    parse: Callable[[dict[str, str]], Any], lab_environ: dict[str, str]
) -> None:
    bag = parse({**lab_environ, "AIRFLOW__CORE__MAX_CONSECUTIVE_FAILED_DAG_RUNS_PER_DAG": "3"})
    assert {dag_id: dag.max_consecutive_failed_dag_runs for dag_id, dag in bag.dags.items()} == dict.fromkeys(
        DAG_IDS, 0
    )


@pytest.mark.parametrize("watch", WATCHES.values(), ids=lambda watch: watch.name)
def test_the_status_page_knows_how_often_each_watch_looks(watch: Watch) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    looks = list(croniter_range(day, day + timedelta(days=1), CATALOGUE[watch.dag_id]))
    assert {later - earlier for earlier, later in pairwise(looks)} == {watch.every}


def test_every_scheduled_dag_is_a_watch_on_the_status_page() -> None:
    scheduled = {dag_id for dag_id, cron in CATALOGUE.items() if cron}
    assert {watch.dag_id for watch in WATCHES.values()} == scheduled - ABOUT_NO_GROUP


def test_one_task_of_a_scheduled_dag_looks_at_all_groups_and_mapped_ones_follow_it(bag: Any) -> None:
    for dag_id in (dag_id for dag_id, schedule in CATALOGUE.items() if schedule and dag_id not in ABOUT_NO_GROUP):
        first, *others = bag.dags[dag_id].topological_sort()
        assert first.task_id == ("shares" if dag_id in BY_SPARK else "look")
        assert others
        # What became of a run is said once, whatever it is about.
        for task in (task for task in others if task.task_id not in ("outcome", "results")):
            assert task.is_mapped or task.get_closest_mapped_task_group() is not None, task.task_id
            assert first.task_id in task.get_flat_relative_ids(upstream=True)


def test_a_hundred_quiet_groups_make_less_than_twenty_thousand_tasks_a_day(
    lab_environ: dict[str, str], dags_folder: Path, tmp_path: Path
) -> None:
    environ = {**_inherited(), **lab_environ}
    environ["KAFKA_DR_TOPOLOGY"] = str(many_groups_declared(Path(environ["KAFKA_DR_TOPOLOGY"]), 100, tmp_path))
    tasks = parsed(dags_folder, environ)["tasks_a_day"]
    # Four applications, and what is before and after them.
    assert (tasks["dr_lag_audit"], tasks["dr_checksum_audit"]) == (288 * 7, 96 * 7)
    assert sum(tasks.values()) < 20_000


@pytest.mark.parametrize(
    ("watch", "expected"),
    [
        ("quick", {"dr_flows": "* * * * *", "dr_config_sync": "4-59/5 * * * *"}),
        ("idle", {"dr_canary": "*/5 * * * *", "dr_offsets": "9 */2 * * *", "dr_config_sync": "4 * * * *"}),
    ],
)
def test_the_topology_says_how_often_groups_are_looked_at_and_health_looks_each_minute_all_the_same(
    parse: Callable[[dict[str, str]], Any], lab_environ: dict[str, str], tmp_path: Path, watch: str, expected: Any
) -> None:
    declared = Path(lab_environ["KAFKA_DR_TOPOLOGY"]).read_text(encoding="utf-8")
    path = tmp_path / "topology.yaml"
    path.write_text(declared.replace("    config_sync:", f"    watch: {watch}\n    config_sync:"), encoding="utf-8")
    dags = parse({**lab_environ, "KAFKA_DR_TOPOLOGY": str(path)}).dags
    assert {dag_id: dags[dag_id].schedule for dag_id in expected} == expected
    assert dags["dr_health"].schedule == "* * * * *"


def test_a_dag_file_is_wiring_only(dags_folder: Path) -> None:
    for path in dags_folder.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        written = [type(node).__name__ for node in ast.walk(tree)]
        assert not {"FunctionDef", "ClassDef", "For", "If", "Try", "Lambda"} & set(written), path.name


@pytest.mark.parametrize(
    ("audits", "allowed"),
    # The Spark provider's operator, which the audits' derives from, brings requests with it.
    [(False, set()), (True, {"requests"})],
)
def test_parsing_imports_nothing_heavy(
    dags_folder: Path, lab_environ: dict[str, str], audits: bool, allowed: set[str]
) -> None:
    by_spark = {
        f"dr_{name}" for name in ("adopt", "drill", "failback", "checksum_audit", "conflict_audit", "lag_audit")
    }
    paths = sorted(str(path) for path in dags_folder.glob("*.py") if (path.stem in by_spark) is audits)
    assert paths
    code = (
        "import json, runpy, sys, airflow.sdk\n"
        "before = set(sys.modules)\n"
        f"for path in {paths!r}: runpy.run_path(path)\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    path = [str(dags_folder.parent / name) for name in ("plugins", "include")]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**_inherited(), **lab_environ, "PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    imported = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in imported if name in HEAVY - allowed] == []


def test_airflow_does_not_run_the_package_as_plugins(dags_folder: Path) -> None:
    ignored = (dags_folder.parent / "plugins" / ".airflowignore").read_text(encoding="utf-8").splitlines()
    assert "kafka_dr_airflow/" in ignored
    loaded = {path.name for path in (dags_folder.parent / "plugins").glob("*.py")}
    assert loaded == {"kafka_dr_plugin.py"}


def _inherited() -> dict[str, str]:
    import os

    return dict(os.environ)
