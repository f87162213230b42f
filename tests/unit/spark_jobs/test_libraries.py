from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import py4j.protocol
import pyspark.sql.types
import pytest

from jobs.libraries import unpacked
from jobs.session import without_numpy


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    for package in ("pyspark", "py4j"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "pyspark" / "python" / "lib").mkdir(parents=True)
    return tmp_path


def archives(folder: Path) -> list[str]:
    return [str(folder / "pyspark" / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]


def test_archives_of_what_is_installed_beside_them_are_left_out(installed: Path) -> None:
    assert unpacked(["", *archives(installed), str(installed), "/elsewhere.zip"]) == [
        "",
        str(installed),
        "/elsewhere.zip",
    ]


def test_archives_stay_where_the_folder_around_them_is_not_on_the_path(installed: Path) -> None:
    path = [*archives(installed), str(installed / "other")]
    assert unpacked(path) == path


def test_an_archive_stays_where_only_that_one_is_not_unpacked(installed: Path) -> None:
    (installed / "py4j" / "__init__.py").unlink()
    spark, bridge = archives(installed)
    assert unpacked([spark, bridge, str(installed)]) == [bridge, str(installed)]


def test_what_is_handed_to_the_jvm_is_not_looked_at_by_the_converters_of_numpy() -> None:
    ours = [object(), pyspark.sql.types.NumpyArrayConverter(), pyspark.sql.types.DateConverter()]
    kept = [ours[0], ours[2]]
    without_numpy(ours)
    assert ours == kept


def test_spark_still_has_the_converters_that_are_left_out() -> None:
    """Should it rename them, or do without their detour, then this is to be looked at again."""
    names = {type(each).__name__ for each in py4j.protocol.INPUT_CONVERTER}
    assert {"NumpyScalarConverter", "NumpyArrayConverter"} <= names


def test_a_job_imports_neither_the_test_tools_of_spark_nor_pandas() -> None:
    looked_at = "[m for m in sys.modules if m == 'pandas' or m.startswith('pyspark.testing')]"
    asked = [sys.executable, "-c", f"import sys, jobs.checksum, jobs.lag; print({looked_at})"]
    path = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    assert subprocess.run(asked, capture_output=True, text=True, check=True, env=path).stdout == "[]\n"
