from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lab.bootstrap import INSTALLERS, PROJECT, REQUIREMENTS, installations
from support.installed_apart import requirements

#: What Airflow's Python needs, and what the lab and the tests need in addition.
RUNTIME = PROJECT / "requirements.txt"
CHOSEN = [
    line
    for file in (RUNTIME, *(INSTALLERS.parent / name for name in ("requirements-lab.in", "requirements-build.in")))
    for line in file.read_text().splitlines()
    if line and not line.startswith(("#", "-r"))
]
#: Each requirement with its hashes, in one text.
WRITTEN = re.split(
    r"\n(?! )",
    "".join(file.read_text() for file in (INSTALLERS, REQUIREMENTS, *map(requirements, ("fab", "statsd")))).strip(),
)
PINS = [Requirement(each.partition("\\")[0].strip()) for each in WRITTEN]


def chosen(line: str) -> Requirement:
    return Requirement(line.partition("#")[0].strip())


def test_everything_is_pinned_exactly() -> None:
    assert [str(pin) for pin in PINS if not re.fullmatch(r"==[^,*]+", str(pin.specifier))] == []


def test_everything_is_pinned_by_hash() -> None:
    assert [each for each in WRITTEN if not re.search(r"--hash=sha256:[0-9a-f]{64}", each)] == []


def test_everything_chosen_says_why_and_is_pinned_as_chosen() -> None:
    assert [line for line in CHOSEN if len(line.partition("# ")[2]) < 10] == []
    pinned = {pin.name: str(pin.specifier).removeprefix("==") for pin in PINS}
    assert [str(each) for each in map(chosen, CHOSEN) if pinned[each.name] not in each.specifier] == []


def test_both_packages_that_install_pyspark_have_one_version() -> None:
    versions = {pin.name: pin.specifier for pin in PINS}
    assert versions["pyspark"] == versions["pyspark-client"]


def test_no_host_is_named() -> None:
    assert [line for line in (*WRITTEN, *CHOSEN) if "://" in line or "--index" in line] == []


def test_what_runs_here_is_what_is_pinned() -> None:
    differing = {
        pin.name: metadata.version(pin.name)
        for pin in PINS
        if pin.name in ("confluent-kafka", "kafka-python", "apache-airflow", "jgo", "psutil", "ruff", "uv")
        and metadata.version(pin.name) not in pin.specifier
    }
    assert differing == {}


@pytest.mark.parametrize(
    ("said", "refused"), [("{digest}", False), (64 * "0", True), ("", True)], ids=["its hash", "another", "none"]
)
def test_a_file_whose_hash_is_not_pinned_is_not_installed(tmp_path: Path, said: str, refused: bool) -> None:
    wheel, installed = tmp_path / "tiny-1.0-py3-none-any.whl", tmp_path / "installed"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    digest = said.format(digest=hashlib.sha256(wheel.read_bytes()).hexdigest())
    pins = tmp_path / "pins.txt"
    pins.write_text("tiny==1.0" + (f" --hash=sha256:{digest}" if digest else ""))
    command = installations(Path(sys.executable), pins)[-1]
    offline = ["--no-index", "--no-cache", "--find-links", str(tmp_path), "--target", str(installed)]
    done = subprocess.run([*command, *offline], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == refused, done.stderr
    assert (installed / "tiny.py").exists() != refused
