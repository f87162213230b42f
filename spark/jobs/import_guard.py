"""What the jobs' Python imports, and from where. Imported before anything of Spark is: it takes time that a job of
little work has not got.
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
    """Says that there is no pandas.

    No job uses it. Spark imports it with its test tools, which it asks for numpy when it is given a literal, and
    pyarrow when it is given a list: together that takes longer than reading what is new in a quiet flow.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse pandas, and leave everything else to others."""
        if fullname == "pandas":
            raise ModuleNotFoundError("the jobs do without pandas", name=fullname)
        return None


def unpacked(path: Sequence[str]) -> list[str]:
    """Return a module path without the archives of libraries that lie beside it unpacked.

    ``spark-submit`` puts archives of ``pyspark`` and ``py4j`` first. Nothing compiled is kept of an archive, so
    each job would compile all of it again. A Spark that was not installed as a Python package keeps its archives.
    """
    folders = {Path(entry or ".").resolve() for entry in path}
    return [entry for entry in path if not _is_beside(Path(entry).resolve(), folders)]


def _is_beside(archive: Path, folders: set[Path]) -> bool:
    """Whether an archive of ``<folder>/pyspark/python/lib`` holds what ``<folder>`` holds itself."""
    if archive.suffix != ".zip" or len(archive.parents) < 4 or archive.parents[2].name != "pyspark":
        return False
    folder, package = archive.parents[3], archive.stem.partition("-")[0]
    return folder in folders and (folder / package / "__init__.py").is_file()
