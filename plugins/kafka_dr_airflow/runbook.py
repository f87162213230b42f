"""The runbook that Airflow shows of a DAG: the file with its name, and first the way to the status page."""

from __future__ import annotations

from pathlib import Path

from kafka_dr_airflow.links import status_url


def runbook(dag_file: str) -> str:
    """Return the runbook of a DAG, as Markdown.

    :param dag_file: ``__file__`` of the DAG
    """
    title, rest = Path(dag_file).with_suffix(".md").read_text("utf-8").split("\n", maxsplit=1)
    way = f"[DR status]({status_url()}): what waits for a person, and each group with what is wrong."
    return f"{title}\n\n{way}\n{rest}"
