"""The map of the project, held by reading the imports: which room may import which, and what no file may contain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "include" / "kafka_dr"

#: The rooms of the core, from the ground up: each may import only rooms before it.
FLOORS = """
    errors version project spark_submit causes durations counted clock waiting outcomes parallel rare_collection people
    quoting verb_words positions named_rows codec json_documents declared_program locked_file naming tls_files
    http_endpoint airflow_api vantage_server
    kubernetes audit lag topology clusters readers storage routing watch_results readiness situations notifications
    metrics
    evidence register replication connections access_rules canary offsets rescue fencing rights config_sync
    observation stretch conflicts runs disaster checks group_offsets approvals adoption watch failback failover health
    retention verbs drill set_up readiness_checks doctor rounds command_line
"""
ROOMS = FLOORS.split()
#: Third-party libraries of the core, and the rooms that alone may import them. Any other library is refused.
OWNERS = {
    "confluent_kafka": {"clusters"},
    "kafka": {"clusters"},
    "httpx": {"http_endpoint", "kubernetes", "replication", "routing"},
    "dns": {"routing"},
    "pydantic": {"topology"},
    "pydantic_core": {"topology"},
    "yaml": {"topology"},
    "cattrs": {"codec"},
    "jinja2": {"evidence"},
    "markupsafe": {"evidence"},
    # Seals are signed, and checked, with Ed25519; kept stranded records are decrypted; ends of certificates are read.
    "cryptography": {"evidence", "rescue", "readiness_checks"},
    "typer": {"command_line"},
    "rich": {"command_line"},
    # An evidence root in an object store, without Airflow's way to it.
    "upath": {"command_line"},
    # Offset syncs, maps and stranded records are kept as Parquet, which Spark and people read as well.
    "pyarrow": {"offsets", "rescue"},
}
#: What runs in Airflow reaches Spark, clusters and files through the core.
_AIRFLOW_MUST_NOT = {
    *("pyspark", "kafka_dr_spark", "copy_audit", "lab"),
    *("confluent_kafka", "kafka", "httpx", "pydantic", "yaml"),
}
#: What no file under a folder may import, by the first part of the name or by a dotted beginning.
FORBIDDEN = {
    "include/kafka_dr": {
        "airflow",
        "pyspark",
        "kafka_dr_airflow",
        "kafka_dr_spark",
        "copy_audit",
        "lab",
        "dags",
        "support",
    },
    "plugins": _AIRFLOW_MUST_NOT,
    "dags": _AIRFLOW_MUST_NOT,
    "spark": {"airflow", "kafka_dr_airflow", "lab", "confluent_kafka", "kafka", "httpx", "pydantic", "yaml"},
    "spark/copy_audit": {"pyspark", "py4j", "pandas", "kafka_dr_spark", "jobs"},
    "spark/kafka_dr_spark": {"kafka_dr", "copy_audit", "jobs"},
    "include/lab/traffic": {"kafka_dr", "kafka_dr_airflow", "kafka_dr_spark", "copy_audit", "airflow"},
    "include/lab/demo/stretch": {"kafka_dr", "kafka_dr_airflow", "kafka_dr_spark", "copy_audit", "airflow"},
    "include/lab/invariants": {"kafka_dr", "kafka_dr_airflow", "kafka_dr_spark", "copy_audit", "airflow"},
}
#: What Spark's drivers may take from the core.
SPARK_MAY = {
    "spark/copy_audit": {"kafka_dr.audit", "kafka_dr.positions"},
    "spark/jobs": {
        *("kafka_dr.audit", "kafka_dr.topology", "kafka_dr.clusters", "kafka_dr.replication", "kafka_dr.waiting"),
        "kafka_dr.parallel",
        # A report says why something cannot be read, how long something took, and how many, as every page does.
        *("kafka_dr.causes", "kafka_dr.durations", "kafka_dr.counted"),
        *("kafka_dr.json_documents", "kafka_dr.codec"),
        # A lag report calls a group by its kind, and says what its owners do, in the words of every other report.
        "kafka_dr.readers",
        *("kafka_dr.lag", "kafka_dr.errors", "kafka_dr.clock", "kafka_dr.named_rows", "kafka_dr.positions"),
        # What a conflict is, what is known of arrivals, and what is reported.
        "kafka_dr.conflicts",
        # Read only: what is stranded, or stays quarantined, is decided by what was journaled.
        "kafka_dr.register",
    },
}
#: What the audits' rules may need, so that a driver imports little.
_AUDIT_MAY = {
    *("kafka_dr.audit", "kafka_dr.positions", "kafka_dr.json_documents", "kafka_dr.codec"),
    *("kafka_dr.causes", "kafka_dr.durations"),
}
#: What may not be taken from the own room: a planned failover knows no other verb.
WALLS = {"include/kafka_dr/failover/planned": {"kafka_dr.failover.unplanned"}}
#: What sends Python to Spark's executors.
SENT_TO_EXECUTORS = re.compile(r"\b(udf|\w+_udf|mapIn\w+|applyIn\w+|foreach(Partition)?|rdd|addPyFile|py_files)\b")
#: Words of what runs flows today. The port is ``replication``'s; all other code speaks of flows.
REPLICATOR_WORDS = re.compile(r"[Cc]onnector|CONNECTOR|\bMm2|\bConnect(?:Client\b|\b(?!\s+(?:to|a|and|clients)\b))")
#: Code that speaks of Connect and not of a flow, by the beginning of its path, and why.
SPEAKS_OF_CONNECT = {
    "include/kafka_dr/topology/": "declares how Connect and an existing replication are reached",
    "include/kafka_dr/connections/": "reads its connections",
    "include/kafka_dr/evidence/known_secrets.py": "keeps secrets of its workers out of evidence",
    "include/kafka_dr/adoption/take_over/decision.py": "shows the declared connectors of an existing replication",
    "include/kafka_dr/clusters/": "makes settings for Java clients, and knows its worker groups",
    "include/kafka_dr/set_up/": "proposes settings of its workers, and names its connections",
    "include/kafka_dr/rights/": "names the topics and groups that its workers need",
    "include/kafka_dr/readers/": "recognises its sinks, which read a group's topics",
    "include/kafka_dr/group_offsets/unmovable_groups.py": "names its sinks",
    "include/kafka_dr/audit/copies.py": "knows what it makes of a missing timestamp",
    "plugins/kafka_dr_airflow/operators/spark_job.py": "says why a job may not ask it",
    "spark/jobs/lag/reading.py": "says whose clock stamped an offset sync",
    "spark/kafka_dr_spark/offset_syncs.py": "says whose clock stamped an offset sync",
}
#: Comes with Airflow, Spark or Jinja, in a version that only they choose.
COMES_WITH = {"sqlalchemy", "fastapi", "starlette", "pydantic-core", "py4j", "universal-pathlib", "markupsafe"}
#: Is named for its version alone.
NEEDED_BY_OTHERS = {"pandas"}
PILES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc", "tools"}
LONGEST = 500
#: Joined here, so that this file does not contain what it looks for.
MACHINE_PATHS = re.compile(
    r"(?<![\w.])/(" + "|".join(["wo" + "rk", "ro" + "ot", "opt/" + "dev", "home/" + r"\w+"]) + r")/"
)
REGISTRIES = re.compile(
    "|".join(("pypi" + r"\.org", "python" + "hosted", "maven" + r"\.org", "npm" + r"js\.", "ghcr" + r"\.io"))
)
TICKETS = re.compile(r"\b(issue|ticket|pull request) #?\d", re.IGNORECASE)


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return every module that a file imports, at its top or inside a function; ``from a import b`` as ``a.b``."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively: Airflow would load such a module twice"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def room_of(path: Path) -> str:
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_no_folder_imports_against_the_direction(folder: str) -> None:
    wrong = [(str(p), name) for p in python_files(folder) for name in imported(p) if within(name, FORBIDDEN[folder])]
    assert wrong == []


@pytest.mark.parametrize("folder", SPARK_MAY)
def test_spark_takes_from_the_core_only_what_it_may(folder: str) -> None:
    taken = [(str(p), name) for p in python_files(folder) for name in imported(p) if within(name, {"kafka_dr"})]
    assert [each for each in taken if not within(each[1], SPARK_MAY[folder])] == []


def test_python_is_sent_to_executors_by_the_comparison_alone() -> None:
    """Nothing of this project has to be installed where they run; everything else they run is Spark's own."""
    found = {path.stem for path in python_files("spark") if SENT_TO_EXECUTORS.search(path.read_text())}
    assert found == {"compared_in_tasks", "executor_modules"}


def test_each_library_is_imported_only_by_the_rooms_that_own_it() -> None:
    wrong = []
    for path in python_files("include/kafka_dr"):
        for root in {name.partition(".")[0] for name in imported(path)} - sys.stdlib_module_names - {"kafka_dr"}:
            if room_of(path) not in OWNERS.get(root, set()):
                wrong.append((str(path.relative_to(ROOT)), root))
    assert wrong == []


def test_airflows_python_gets_what_the_product_imports_and_no_tool_of_ours() -> None:
    requirements = (ROOT / "requirements.txt").read_text()
    named = {
        canonicalize_name(Requirement(line.partition("#")[0]).name)
        for line in requirements.splitlines()
        if line[0] != "#"
    }
    files = [file for folder in ("include/kafka_dr", "plugins", "dags", "spark") for file in python_files(folder)]
    distributions = metadata.packages_distributions()
    modules = {name.partition(".")[0] for file in files for name in imported(file)} - {"airflow"}
    found = {canonicalize_name(name) for module in modules for name in distributions.get(module, ())}
    providers = {name for name in named if name.startswith("apache-airflow")}
    assert found - COMES_WITH == named - providers - NEEDED_BY_OTHERS
    assert len(requirements) < 3000


def test_only_one_loop_sleeps() -> None:
    """Everything else waits with ``wait_until``, which always has a deadline and a clock that a test can move."""
    loops = []
    for path in [*python_files("include/kafka_dr"), *python_files("plugins"), *python_files("spark")]:
        for loop in (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.While | ast.For)):
            if any(isinstance(node, ast.Attribute) and node.attr == "sleep" for node in ast.walk(loop)):
                loops.append(f"{path.relative_to(ROOT)}:{loop.lineno}")
    assert [where for where in loops if not where.startswith("include/kafka_dr/waiting.py:")] == []


def test_where_a_route_is_kept_is_read_by_its_room_alone() -> None:
    """Everything else asks the router, so that a route may be kept in something else than a file."""
    folders = ("include", "plugins", "dags", "spark")
    readers = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in folders
        for path in python_files(folder)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr == "path" and ast.unparse(node.value).endswith("route"))
        or (isinstance(node, ast.Tuple) and ast.unparse(node).endswith("'route', 'path')"))
    ]
    assert [where for where in readers if not where.startswith("include/kafka_dr/routing/")] == []


def test_pools_of_threads_are_made_in_one_room() -> None:
    """Spark's session begins in a thread while its modules are imported: that is not several questions.

    A vantage is one file, that runs where nothing else of the project is.
    """
    known = {"include/kafka_dr/parallel.py", "include/kafka_dr/vantage_server.py", "spark/jobs/session.py"}
    files = [*python_files("include/kafka_dr"), *python_files("plugins"), *python_files("spark")]
    pools = {str(p.relative_to(ROOT)) for p in files if "concurrent.futures.ThreadPoolExecutor" in imported(p)}
    assert pools - known == set()


@pytest.mark.parametrize(
    ("room", "may"),
    [
        ("failover", {"failover", "verbs", "health", "readiness_checks"}),
        ("verbs", {"verbs", "drill", "readiness_checks", "command_line"}),
    ],
)
def test_failovers_and_the_engine_of_verbs_are_imported_by_few_rooms(room: str, may: set[str]) -> None:
    others = [path for path in python_files("include/kafka_dr") if room_of(path) not in may]
    assert [str(p) for p in others if any(within(name, {f"kafka_dr.{room}"}) for name in imported(p))] == []


@pytest.mark.parametrize("folder", WALLS)
def test_walls_inside_rooms_hold(folder: str) -> None:
    wrong = [(str(p), name) for p in python_files(folder) for name in imported(p) if within(name, WALLS[folder])]
    assert wrong == []


def test_audit_which_runs_on_executors_imports_ground_rooms_alone() -> None:
    names = {name for path in python_files("include/kafka_dr/audit") for name in imported(path)}
    others = {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}
    assert [name for name in sorted(others) if not within(name, _AUDIT_MAY)] == []


def test_the_words_for_offsets_import_the_standard_library_alone() -> None:
    names = set(imported(CORE / "positions.py"))
    assert {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names} == set()


def test_lag_is_judged_by_rules_that_import_the_standard_library_alone() -> None:
    names = {name for path in python_files("include/kafka_dr/lag") for name in imported(path)}
    others = {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}
    may = {"kafka_dr.lag", "kafka_dr.json_documents", "kafka_dr.codec", "kafka_dr.durations", "kafka_dr.counted"}
    assert [name for name in sorted(others) if not within(name, may)] == []


def imports_of_rooms() -> dict[str, set[str]]:
    """Return what each room of the core imports of the others."""
    needs: dict[str, set[str]] = {}
    for path in python_files("include/kafka_dr"):
        others = {name.split(".")[1] for name in imported(path) if name.startswith("kafka_dr.")}
        needs.setdefault(room_of(path), set()).update(others - {room_of(path)})
    return {room: others for room, others in needs.items() if room not in {"__init__", "__main__"}}


def test_a_room_may_import_only_rooms_before_it() -> None:
    found = imports_of_rooms()
    assert sorted(found) == sorted(ROOMS)
    after = {room: others - set(ROOMS[: ROOMS.index(room)]) for room, others in found.items()}
    assert {room: others for room, others in after.items() if others} == {}


def test_nothing_is_imported_under_the_name_of_its_folder() -> None:
    """``include.kafka_dr`` next to ``kafka_dr`` would be two sets of classes."""
    files = [path for folder in ("include", "plugins", "dags", "spark", "tests") for path in python_files(folder)]
    assert [str(p) for p in files if any(within(n, {"include", "plugins", "spark"}) for n in imported(p))] == []


def test_one_class_name_has_one_meaning() -> None:
    """Also in tests: who searches for a name finds one class."""
    defined: dict[str, list[str]] = {}
    for path in (path for folder in ("include", "plugins", "dags", "spark", "tests") for path in python_files(folder)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: where for name, where in defined.items() if len(where) > 1} == {}


def test_a_private_method_is_called_by_its_class_or_by_one_that_it_inherits_from() -> None:
    """One that replaces a method which was renamed since is called by nobody, and nothing else says so."""
    trees = {
        path: ast.parse(path.read_text("utf-8"))
        for folder in ("include/kafka_dr", "plugins", "dags", "spark")
        for path in python_files(folder)
    }
    classes = {
        node.name: (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    called = {
        path: {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} for path, tree in trees.items()
    }

    def lineage(name: str) -> Iterator[Path]:
        path, node = classes[name]
        yield path
        for base in node.bases:
            named = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(named, ast.Name) and named.id in classes:
                yield from lineage(named.id)

    orphans = [
        f"{name}.{method.name}"
        for name, (_, node) in classes.items()
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name.startswith("_") and not method.name.startswith("__")
        if not any(method.name in called[path] for path in lineage(name))
    ]
    assert orphans == []


def test_code_outside_replication_speaks_of_flows_and_not_of_what_runs_them() -> None:
    code = [p for folder in ("include/kafka_dr", "plugins", "dags", "spark") for p in python_files(folder)]
    speaking = {str(p.relative_to(ROOT)) for p in code if REPLICATOR_WORDS.search(p.read_text("utf-8"))}
    known = {p for p in speaking if p.startswith((*SPEAKS_OF_CONNECT, "include/kafka_dr/replication/"))}
    assert speaking - known == set()
    assert [path for path in SPEAKS_OF_CONNECT if not any(p.startswith(path) for p in known)] == []


def test_files_are_short() -> None:
    long = {}
    for path in (p for p in tracked_files() if p.suffix == ".py"):
        lines = len(path.read_text("utf-8").splitlines())
        if lines > LONGEST:
            long[str(path.relative_to(ROOT))] = lines
    assert long == {}


def test_no_module_is_named_after_a_pile() -> None:
    parts = {
        path: set(path.relative_to(ROOT).with_suffix("").parts) for path in tracked_files() if path.suffix == ".py"
    }
    assert [str(path) for path, names in parts.items() if names & PILES] == []


def test_airflow_does_not_load_the_package_of_plugins_as_plugins() -> None:
    lines = (ROOT / "plugins" / ".airflowignore").read_text("utf-8").splitlines()
    packages = {f"{path.parent.name}/" for path in (ROOT / "plugins").glob("*/__init__.py")}
    assert packages
    assert packages <= {line.strip() for line in lines}


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRIES, TICKETS], ids=["machine", "registries", "tickets"])
def test_no_file_speaks_of_the_workshop_where_it_was_written(pattern: re.Pattern[str]) -> None:
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []
