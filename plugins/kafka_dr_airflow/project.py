"""Where the files are that no Python imports: DAGs with their runbooks, Spark jobs, the guide."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "project"
#: The folder with ``dags``, ``spark`` and ``include``: part of this package if it was installed as a wheel.
PROJECT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parents[1]
