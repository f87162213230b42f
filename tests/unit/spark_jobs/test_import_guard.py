from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from jobs.import_guard import WithoutPandas, unpacked


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    for package in ("pyspark", "py4j"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "pyspark" / "python" / "lib").mkdir(parents=True)
    return tmp_path


def archives(folder: Path) -> list[str]:
    return [str(folder / "pyspark" / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]


def test_archives_of_installed_packages_are_left_out(installed: Path) -> None:
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


def test_a_job_does_without_pandas_whoever_asks_for_it() -> None:
    """Spark asks for it with each literal, and pyarrow with each list."""
    job = """
        import sys
        from jobs.import_guard import lean
        lean()
        import jobs.checksum.job, jobs.lag.job, jobs.stranded.job
        import pyarrow, pyspark.testing.utils
        assert pyarrow.table({"number": [1, 2]}).to_pydict() == {"number": [1, 2]}
        assert pyspark.testing.utils.have_numpy
        print([name for name in sys.modules if name.partition(".")[0] == "pandas"])
    """
    path = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    asked = [sys.executable, "-c", dedent(job)]
    assert subprocess.run(asked, capture_output=True, text=True, check=True, env=path).stdout == "[]\n"


def test_a_finder_that_knows_no_pandas_leaves_everything_else_to_others() -> None:
    assert WithoutPandas().find_spec("numpy", None) is None
    with pytest.raises(ModuleNotFoundError, match="without pandas"):
        WithoutPandas().find_spec("pandas", None)
