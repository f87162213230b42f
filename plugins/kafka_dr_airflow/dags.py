"""All DAGs of this project, for one line in a file of a company's own folder of DAGs.

::

    from kafka_dr_airflow.dags import *
"""

from __future__ import annotations

import runpy

from airflow.sdk import get_parsing_context

from kafka_dr.project import PROJECT

# A task needs its own DAG alone, and Airflow says which one that is: each of the others would delay it.
_WANTED = f"{get_parsing_context().dag_id or 'dr_*'}.py"
_FILES = [path for path in (PROJECT / "dags").iterdir() if path.match(_WANTED)]
_DAGS = {path.stem: runpy.run_path(str(path), run_name=path.stem)["dag"] for path in _FILES}

__all__ = list(_DAGS)
globals().update(_DAGS)
