from __future__ import annotations

import re
from importlib import metadata

from packaging.requirements import Requirement

from lab.bootstrap import REQUIREMENTS

LINES = REQUIREMENTS.read_text().splitlines()
CHOSEN = [line for line in LINES[: LINES.index("")] if line and not line.startswith("#")]
PINS = {
    (requirement := Requirement(line.partition("#")[0].strip())).name: requirement
    for line in LINES
    if line.strip() and not line.startswith("#")
}


def test_everything_is_pinned_exactly() -> None:
    assert [str(pin) for pin in PINS.values() if not re.fullmatch(r"==[^,*]+", str(pin.specifier))] == []


def test_everything_chosen_says_why() -> None:
    assert [line for line in CHOSEN if len(line.partition("# ")[2]) < 10] == []


def test_both_packages_that_install_pyspark_have_one_version() -> None:
    assert PINS["pyspark"].specifier == PINS["pyspark-client"].specifier


def test_no_host_is_named() -> None:
    assert [line for line in LINES if "://" in line or "--index" in line] == []


def test_what_runs_here_is_what_is_pinned() -> None:
    differing = {
        name: metadata.version(name)
        for name, pin in PINS.items()
        if name in ("confluent-kafka", "kafka-python", "apache-airflow", "jgo", "psutil", "ruff")
        and metadata.version(name) not in pin.specifier
    }
    assert differing == {}
