"""Where the jobs' Python finds Spark. Imported before anything of Spark is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


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
