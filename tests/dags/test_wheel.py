"""The wheel holds the whole product and nothing else, and Airflow finds all of it with one line in a folder of DAGs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from test_architecture import ROOT, tracked_files
from test_pages import broken

from lab.bootstrap import REQUIREMENTS
from support.installed_apart import requirements
from support.wheel import WheelPython, built

if TYPE_CHECKING:
    from support.airflow_lab import QuickLab

#: Where a folder or a file of the project is in the wheel. What is below none of these is not in it.
WHERE = {"include/kafka_dr/": "kafka_dr/", "plugins/kafka_dr_": "kafka_dr_"}
#: These keep their paths in the project.
KEPT = (
    *("README.md", "dags/", "spark/", "include/guide/", "include/monitoring/", "include/screenshots/"),
    *("include/kafka_dr/README.md", "include/topology.example.yaml"),
)
DAG_IDS = sorted(path.stem for path in (ROOT / "dags").glob("*.py"))
#: Says which DAGs Airflow finds, what went wrong, how each runbook begins, and which files are submitted to Spark.
PARSED = """
    import json, os
    from airflow.dag_processing.dagbag import DagBag
    bag = DagBag(os.environ["AIRFLOW_HOME"] + "/dags")
    tasks = [task for dag in bag.dags.values() for task in dag.tasks]
    print(json.dumps({
        "errors": bag.import_errors,
        "runbooks": {name: dag.doc_md.partition("\\n")[0] for name, dag in bag.dags.items()},
        "jobs": sorted({task.application for task in tasks if getattr(task, "application", None)}),
    }))
"""
#: A look at a group in a child process, and what became of it.
LOOKED = """
    import json, os, pathlib
    from kafka_dr.clock import SystemClock
    from kafka_dr.rounds.access_data import AccessData
    from kafka_dr.rounds.round import Round, RoundLimits, look_at_groups
    from kafka_dr.storage.deadline_path import with_deadline
    from kafka_dr.topology.loading import load
    topology = load(pathlib.Path(os.environ["KAFKA_DR_TOPOLOGY"]), os.environ)
    root, limits = with_deadline(pathlib.Path.cwd()), RoundLimits(60, 120)
    made = Round("support.round_looks:by_name", topology, AccessData({}), root, "manual__1", limits)
    found = look_at_groups(made, ["orders"], clock=SystemClock())
    print(json.dumps([found["orders"].outcome, *found["orders"].sentences]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory, lab_environ: dict[str, str]) -> WheelPython:
    """Has the lab's packages, and of this project the wheel alone."""
    made = WheelPython.made(tmp_path_factory.mktemp("installed"), lab_environ, on_the_lab=True)
    made.install("--no-deps", "--offline", str(wheel))
    return made


def test_the_wheel_holds_every_file_of_the_product_and_no_other(wheel: Path) -> None:
    tracked = [str(path.relative_to(ROOT)) for path in tracked_files()]
    where = WHERE | {kept: f"kafka_dr_airflow/project/{kept}" for kept in KEPT}
    expected = {
        name: name.replace(start, place, 1)
        for start, place in where.items()
        for name in tracked
        if name.startswith(start)
    }
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {*expected.values()}


def test_the_wheel_needs_what_requirements_txt_says(python: WheelPython) -> None:
    needed = python.answer("import importlib.metadata as m, json; print(json.dumps(m.requires('kafka-dr')))")
    lines = [line.partition("#")[0] for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines()]
    ranges = {Requirement(line.strip()) for line in lines if line}
    assert {Requirement(each) for each in needed if "extra ==" not in each} == ranges


def test_no_link_of_an_installed_page_is_dead(python: WheelPython) -> None:
    pages = list((python.site_packages / "kafka_dr_airflow" / "project").rglob("*.md"))
    assert len(pages) > 50
    assert [(str(page), link) for page in pages for link in broken(page)] == []


def test_the_command_line_is_installed(python: WheelPython) -> None:
    rights = ("rights", "east", "--topology", str(ROOT / "include" / "topology.yaml"))
    assert python.run("kafka-dr", "--version") == python.run("python", "-m", "kafka_dr", "--version")
    assert "`dr-operator`" in python.run("kafka-dr", *rights)


def test_the_doctor_finds_its_trial_of_spark(python: WheelPython) -> None:
    job = python.answer("import json; from kafka_dr.doctor.spark_trial import JOB; print(json.dumps(str(JOB)))")
    assert Path(job).is_file()
    assert python.site_packages in Path(job).parents


def test_every_module_is_imported_from_the_wheel_alone(python: WheelPython) -> None:
    program = """
        import importlib, json, pathlib, sys, sysconfig
        root = pathlib.Path(sysconfig.get_path("purelib"))
        files = [path for name in ("kafka_dr", "kafka_dr_airflow") for path in (root / name).rglob("*.py")]
        names = [".".join(path.relative_to(root).with_suffix("").parts) for path in files]
        for name in names:
            if ".project." not in name and not name.endswith("__main__"):
                importlib.import_module(name.removesuffix(".__init__"))
        print(json.dumps([len(names), [str(m.__file__) for n, m in sys.modules.items() if n.startswith("kafka_dr")]]))
    """
    known, files = python.answer(program)
    assert known > 400
    assert [file for file in files if not file.startswith(str(python.site_packages))] == []


def test_a_look_finds_pythons_own_modules_first(python: WheelPython) -> None:
    """Packages that bring old copies of them are installed here and there."""
    (python.site_packages / "pathlib.py").write_text("raise ImportError('an old copy')")
    assert python.answer(LOOKED, PYTHONPATH=str(ROOT / "tests"))[0] == "ok"


def test_airflow_finds_every_dag_by_one_line(python: WheelPython) -> None:
    found = python.answer(PARSED)
    project = python.site_packages / "kafka_dr_airflow" / "project"
    assert found["errors"] == {}
    assert found["runbooks"] == {
        name: (ROOT / "dags" / f"{name}.md").read_text("utf-8").partition("\n")[0] for name in DAG_IDS
    }
    assert found["jobs"]
    assert [job for job in found["jobs"] if not Path(job).is_file() or project not in Path(job).parents] == []


def test_a_task_loads_its_own_dag_alone(python: WheelPython) -> None:
    """Airflow parses the file again for each task."""
    assert list(python.answer(PARSED, _AIRFLOW_PARSING_CONTEXT_DAG_ID="dr_health")["runbooks"]) == ["dr_health"]
    assert python.answer(PARSED, _AIRFLOW_PARSING_CONTEXT_DAG_ID="of_the_company")["runbooks"] == {}


def test_airflow_finds_the_plugin_of_the_wheel(python: WheelPython) -> None:
    plugins = {
        each["name"]: each for each in json.loads(python.run("python", "-m", "airflow", "plugins", "--output", "json"))
    }
    ours = plugins["kafka_dr"]
    assert ours["source"].startswith("kafka-dr==")
    assert [each["name"] for each in ours["external_views"]] == ["DR status"]
    assert len(ours["operator_extra_links"]) == 1


@pytest.fixture(scope="module")
def resolved(wheel: Path, tmp_path_factory: pytest.TempPathFactory, lab_environ: dict[str, str]) -> WheelPython:
    """Has the wheel, Airflow and FAB in an environment of their own, in the versions that the lab and its FAB have."""
    folder = tmp_path_factory.mktemp("resolved")
    of_fab = requirements("fab").read_text("utf-8")
    named = set(re.findall(r"^[\w.-]+", of_fab, re.MULTILINE))
    of_lab = re.split(r"\n(?! )", REQUIREMENTS.read_text("utf-8"))
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join([of_fab, *(each for each in of_lab if each.partition("==")[0] not in named)]))
    made = WheelPython.made(folder, lab_environ, on_the_lab=False)
    chosen = (str(wheel), "apache-airflow==3.3.*", "apache-airflow-providers-fab")
    made.install("--constraint", str(constraints), *chosen)
    return made


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_wheel_resolves_together_with_airflow_and_fab(resolved: WheelPython) -> None:
    resolved.check()
    assert resolved.answer(PARSED)["runbooks"].keys() == {*DAG_IDS}
    fab = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"
    assert "kafka-dr==" in resolved.run("python", "-m", "airflow", "plugins", AIRFLOW__CORE__AUTH_MANAGER=fab)


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_audits_end_with_a_result_in_an_airflow_that_was_started_by_its_path(
    resolved: WheelPython, airflow: QuickLab, own_port_base: int
) -> None:
    """Nothing of that Python is on the path of commands: a service has one of its own."""
    from support.wheel_airflow import wheel_airflow

    with wheel_airflow(resolved, airflow, own_port_base) as session:
        runs = {dag: session.trigger(dag) for dag in ("dr_checksum_audit", "dr_lag_audit")}
        for dag, run in runs.items():
            state = session.ended(dag, run)
            (found,) = session.result(dag, run, dag.removeprefix("dr_"), map_index=0)
            assert (state, found["group"], found["outcome"]) == ("success", "orders", "ok"), found
            assert found["facts"]["report"]
