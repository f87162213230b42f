"""Where the files are that no Python imports: DAGs with their runbooks, Spark jobs, the guide."""

from __future__ import annotations

from pathlib import Path

_CORE = Path(__file__).resolve().parent
_INSTALLED = _CORE.parent / "kafka_dr_airflow" / "project"
#: The folder with ``dags``, ``spark`` and ``include``: what a wheel brings, if this was installed as one.
PROJECT = _INSTALLED if _INSTALLED.is_dir() else _CORE.parents[1]
