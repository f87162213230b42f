"""The note on a run, which Airflow shows in lists and on the page of the run: how the run ended, in words.

Airflow's interface for tasks has no call that writes notes, so the note is written through the REST API. The login is
in an Airflow connection of type ``http``; its user needs only the right to edit runs. A note informs and nothing
depends on it: if it cannot be written, the log says so once, and the run continues.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from kafka_dr.airflow_api import CONNECTION, advice, did_not_answer
from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.known_secrets import KnownSecrets
from kafka_dr.quoting import inline
from kafka_dr_airflow.links import status_url
from kafka_dr_airflow.note_text import combined, without_secrets
from kafka_dr_airflow.task_api import ERRORS, task_api
from kafka_dr_airflow.topology_file import evidence_root, read_topology


def leave_note(log: Any, context: Any, note: str, *, then: str = "", link: str = "") -> bool:
    """Write the note on the run of a task, after what a person wrote there. Return whether that worked.

    A note that a person writes between the two requests is lost: Airflow's API cannot compare and set.

    :param log: the task's logger
    :param context: Airflow's task context
    :param note: Markdown, of which one line is kept; what people and clusters wrote has to be escaped in it
    :param then: what a person does next, see :func:`next_step`
    :param link: Markdown at its end; empty for the status page
    """
    ti = context["ti"]
    try:
        api = task_api()
        run = f"/api/v2/dags/{quote(ti.dag_id, safe='')}/dagRuns/{quote(ti.run_id, safe='')}"
        present = api.ask("GET", run)["note"] or ""
        shown = without_secrets(note, _known_secrets())
        text = combined(str(present), shown, link=link or f"[DR status]({status_url()})", then=then)
        if text is None:
            log.warning("This run gets no note: what a person wrote there leaves no room. Its note would be: %s", note)
            return False
        api.ask("PATCH", f"{run}?update_mask=note", {"note": text})
    except AirflowNotFoundException:
        log.info(
            "This run gets no note: Airflow has no connection %s. It is optional; include/guide/set-up.md says how to "
            "create it.",
            CONNECTION,
        )
    except ERRORS as error:
        whether = "Perhaps this run gets no note" if did_not_answer(error) else "This run gets no note"
        log.warning("%s: %s. Nothing depends on the note, and this log says the same.", whether, advice(error))
    else:
        return True
    return False


def next_step(log: Any, groups: Iterable[str]) -> str:
    """Return what a person does next about these groups, as a sentence; empty if nobody is needed now.

    It says nothing that ages: a note stays as it is.

    :param log: the task's logger
    """
    from kafka_dr.situations.reading import read_now

    try:
        found = read_now(evidence_root(read_topology(os.environ).evidence), groups, datetime.now(UTC))
    except (KafkaDrError, OSError) as error:
        log.warning("The note does not say what to do next, because that cannot be read: %s", inline(cause(error)))
        return ""
    judged = [each.judgement for each in found.values() if each.colour == "bad"]
    judged.sort(key=lambda each: each.urgency)
    if not judged:
        return ""
    first = judged[0]
    return f"{first.word}: {inline(first.group)}. Next: {inline(first.step)}"


def _known_secrets() -> KnownSecrets:
    """Return what no note may hold: the secrets of every connection of the topology, as far as they can be read."""
    from kafka_dr_airflow.task_clients import open_clients

    try:
        with open_clients() as clients:
            clients.learn_secrets()
            return clients.evidence.secrets
    except (KafkaDrError, OSError):
        return KnownSecrets()  # without a topology, no cluster was reached


@contextmanager
def noted(log: Any, context: Any) -> Iterator[list[str]]:
    """Write as a note what the body puts into the list, or the sentence of the error that it raises.

    :param context: Airflow's task context
    """
    note: list[str] = []
    try:
        yield note
    except AirflowException as error:
        leave_note(log, context, f"FAILED: {inline(cause(error))}")
        raise
    leave_note(log, context, ": ".join(note))
