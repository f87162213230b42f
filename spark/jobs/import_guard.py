"""What the jobs' Python imports, and from where. Imported before anything of Spark: imports take a large part of the
time of a job that has little to do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


def lean() -> None:
    """Let this process import only what a job needs."""
    sys.path[:] = unpacked(sys.path)
    sys.meta_path.insert(0, WithoutPandas())


class WithoutPandas(MetaPathFinder):
    """Refuses to import pandas.

    No job uses it. Spark imports it with its test tools, which it asks for numpy when it is given a literal, and
    pyarrow when it is given a list: together that takes longer than reading the new records of a quiet flow.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse pandas, and leave everything else to other finders."""
        if fullname == "pandas":
            raise ModuleNotFoundError("jobs run without pandas", name=fullname)
        return None


def unpacked(path: Sequence[str]) -> list[str]:
    """Return a module path without the archives whose libraries are also installed as packages.

    ``spark-submit`` puts archives of ``pyspark`` and ``py4j`` first. Nothing compiled is kept of an archive, so each
    job would compile all of it again. A Spark that was not installed as a Python package keeps its archives.
    """
    folders = {Path(entry or ".").resolve() for entry in path}
    return [entry for entry in path if not _is_installed(Path(entry).resolve(), folders)]


def _is_installed(archive: Path, folders: set[Path]) -> bool:
    """Whether an archive of ``<folder>/pyspark/python/lib`` holds a package that ``<folder>`` holds as well."""
    if archive.suffix != ".zip" or len(archive.parents) < 4 or archive.parents[2].name != "pyspark":
        return False
    folder, package = archive.parents[3], archive.stem.partition("-")[0]
    return folder in folders and (folder / package / "__init__.py").is_file()
