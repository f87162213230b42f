from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.java import NICENESS, class_archive, java_home, java_version, spark_java_home


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


def test_the_java_for_spark_lets_others_go_first_where_it_is_told_to(tmp_path: Path) -> None:
    shim = spark_java_home(tmp_path / "shim", _fake(tmp_path / "real", "nice"))

    def niceness(**environ: str) -> int:
        environ = {"PATH": os.environ["PATH"], **environ}
        shown = subprocess.run([str(shim / "bin" / "java")], capture_output=True, text=True, check=True, env=environ)
        return int(shown.stdout)

    assert niceness(**{NICENESS: "7"}) == niceness() + 7


def test_java_takes_its_classes_from_the_archive_that_was_made_of_them(tmp_path: Path) -> None:
    real = java_home({})
    archive = class_archive(real, tmp_path)
    assert archive is not None
    shared = [str(real / "bin" / "java"), "-Xshare:on", f"-XX:SharedArchiveFile={archive}", "-XX:+UseParallelGC"]
    assert subprocess.run([*shared, "-version"], capture_output=True, check=False).returncode == 0


def test_the_archive_of_classes_is_made_once(tmp_path: Path) -> None:
    real = _fake(tmp_path / "real", 'for a do touch "${a#-XX:SharedArchiveFile=}"; done 2>/dev/null')
    (real / "lib").mkdir()
    (real / "lib" / "modules").touch()
    made = class_archive(real, tmp_path / "cache")
    (real / "bin" / "java").unlink()
    assert made is not None
    assert class_archive(real, tmp_path / "cache") == made
    assert [each.name for each in made.parent.iterdir()] == [made.name]


def test_a_java_that_makes_no_archive_of_its_classes_does_without(tmp_path: Path) -> None:
    real = _fake(tmp_path / "real", "exit 1")
    (real / "lib").mkdir()
    (real / "lib" / "modules").touch()
    assert class_archive(real, tmp_path / "cache") is None
