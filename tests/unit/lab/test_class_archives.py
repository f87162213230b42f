"""Archives of classes: one for each Java and each set of jars, used where it exists and never required."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab import class_archives
from lab.errors import LabError
from lab.jvm import Jvm
from lab.layout import Home

MAIN = "kafka.Kafka"


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "kafka.jar").write_text("classes")
    return jars


def folder_of(tmp_path: Path, kafka: Path) -> Path:
    return class_archives.folder_of(tmp_path / "cache", java_home=tmp_path / "java", kafka=kafka)


def arguments(tmp_path: Path, kafka: Path, *, recording: bool = False) -> str:
    jvm = Jvm(tmp_path / "java", kafka, folder_of(tmp_path, kafka), recording)
    return " ".join(jvm.argv(MAIN, heap_megabytes=1, folder=tmp_path))


def test_a_process_uses_the_archive_of_its_main_class_and_starts_without_one(tmp_path: Path, kafka: Path) -> None:
    assert "SharedArchiveFile" not in arguments(tmp_path, kafka)
    archive = folder_of(tmp_path, kafka) / f"{MAIN}.jsa"
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in arguments(tmp_path, kafka)


def test_other_jars_and_another_java_have_archives_of_their_own(tmp_path: Path, kafka: Path) -> None:
    before = folder_of(tmp_path, kafka)
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="22"')
    other_java = folder_of(tmp_path, kafka)
    os.utime(kafka / "kafka.jar", (1, 1))
    assert len({before, other_java, folder_of(tmp_path, kafka)}) == 3


def test_a_process_that_records_writes_into_a_file_of_its_own(tmp_path: Path, kafka: Path) -> None:
    assert f"-XX:ArchiveClassesAtExit={tmp_path / 'classes.jsa'}" in arguments(tmp_path, kafka, recording=True)


def test_a_lab_that_wrote_no_archive_is_an_error_that_names_the_process(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"kafka\.Kafka wrote no .*east-broker-1"):
        class_archives.keep(Home(tmp_path / "lab"), tmp_path)
