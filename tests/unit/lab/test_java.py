from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.java import NICENESS, java_home, java_version, spark_java_home


def _fake(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return home


def test_the_java_that_comes_along_is_new_enough() -> None:
    assert java_version(java_home({})) >= 17


def test_another_java_is_taken_by_setting(tmp_path: Path) -> None:
    home = _fake(tmp_path, "echo 'openjdk version \"17.0.9\" 2023-10-17' >&2")
    assert java_home({"KAFKA_DR_JAVA_HOME": str(home)}) == home


def test_a_java_that_is_too_old_is_refused(tmp_path: Path) -> None:
    home = _fake(tmp_path, "echo 'openjdk version \"11.0.2\"' >&2")
    with pytest.raises(LabError, match="KAFKA_DR_JAVA_HOME is Java 11 and Kafka needs 17 or newer"):
        java_home({"KAFKA_DR_JAVA_HOME": str(home)})


def test_a_folder_without_java_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"bin/java does not run: name a Java home"):
        java_home({"KAFKA_DR_JAVA_HOME": str(tmp_path)})


def test_the_java_for_spark_drops_the_one_argument_and_keeps_all_others_as_they_are(tmp_path: Path) -> None:
    real = _fake(tmp_path / "re al", 'for a do printf "<%s>" "$a"; done')
    shim = spark_java_home(tmp_path / "shim", real)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dx=two words", "", "$HOME", "a'b", "Main"]

    shown = subprocess.run([str(shim / "bin" / "java"), *arguments], capture_output=True, text=True, check=True).stdout

    assert shown == "<-Xmx1g><-Dx=two words><><$HOME><a'b><Main>"


def test_the_java_for_spark_gives_way_as_far_as_the_setting_says_if_it_gives_way_at_all(tmp_path: Path) -> None:
    shim = spark_java_home(tmp_path / "shim", _fake(tmp_path / "real", "nice"))

    def niceness(*, begun_with: int, **environ: str) -> int:
        environ = {"PATH": os.environ["PATH"], **environ}
        command = ["nice", "-n", str(begun_with), str(shim / "bin" / "java")]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout)

    own = os.getpriority(os.PRIO_PROCESS, 0)
    gives_way = {NICENESS: "17"}
    assert niceness(begun_with=10) == min(own + 10, 19)
    assert niceness(begun_with=max(0, 10 - own), **gives_way) == 17
    assert niceness(begun_with=18, **gives_way) == min(own + 18, 19), "it never goes first again"
    if own == 0:
        assert niceness(begun_with=0, **gives_way) == 0, "somebody waits for it"
