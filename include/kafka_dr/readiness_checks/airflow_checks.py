"""What Airflow's API says to the user of this project: the same in readiness, which asks in a task, and elsewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from kafka_dr.airflow_api import CONNECTION, ERRORS, AirflowRestApi, advice
from kafka_dr.outcomes import Check
from kafka_dr.quoting import line
from kafka_dr.set_up.airflow_options import MOST_TASKS

#: The versions that ``requirements.txt`` allows: from the first one on, below the second.
VERSIONS = ((3, 3, 2), (3, 4))
#: What every DAG of this project is tagged with.
_TAG = "kafka-dr"
_POOL = "default_pool"
_ANSWERS, _SLOTS, _VERSION, _DAGS = "airflow_keeps_quick_answers", "airflow_pool", "airflow_version", "airflow_dags"
_LOST = "An answer within seconds of its question may end the run unchanged"
#: The fact of a check that has the commands which correct it.
COMMANDS = "commands"

#: What is known without the connection.
NO_CONNECTION = (
    Check(
        _ANSWERS,
        "warning",
        f"Create the connection {CONNECTION}, with which a task reads an answer that Airflow keeps. {_LOST}.",
    ),
    Check(_SLOTS, "excused", f"the size of {_POOL} is not looked at: there is no connection {CONNECTION}"),
)


def answers(api: AirflowRestApi) -> tuple[Check, ...]:
    """Return what the API shows. Nothing is changed."""
    return tuple(_asked(ask, name, api) for name, ask in _QUESTIONS.items())


def unanswered(error: BaseException) -> tuple[Check, ...]:
    """Return the same where nobody could log in.

    :param error: why not
    """
    return tuple(_without_answer(name, error) for name in _QUESTIONS)


def _asked(ask: Callable[[AirflowRestApi], Check], name: str, api: AirflowRestApi) -> Check:
    try:
        return ask(api)
    except ERRORS as error:
        return _without_answer(name, error)


def _without_answer(name: str, error: BaseException) -> Check:
    if name != _ANSWERS:
        return Check(name, "excused", f"{_WHAT[name]} cannot be read. {advice(error)}")
    said = f"{_LOST}, as answers cannot be read. {advice(error)}"
    return Check(name, "warning", f"{said}. Its user needs the right to see the runs of all DAGs and their answers.")


def _keeps_answers(api: AirflowRestApi) -> Check:
    """Return whether an approval survives an answer that comes before Airflow has noticed that it waits."""
    api.ask("GET", "/api/v2/dags/~/dagRuns/~/hitlDetails?limit=1")
    return Check(_ANSWERS, "ok", "a task can read the answers that Airflow keeps")


def _slots(api: AirflowRestApi) -> Check:
    slots = int(api.ask("GET", f"/api/v2/pools/{_POOL}")["slots"])
    if 0 <= slots < MOST_TASKS:
        said = f"Give {_POOL} at least {MOST_TASKS} slots; it has {slots}. A failover may have to wait for other tasks."
        command = f"airflow pools set {_POOL} {16 * MOST_TASKS} ''"
        return Check(_SLOTS, "warning", said, {COMMANDS: (command,)})
    return Check(_SLOTS, "ok", f"{_POOL} has {slots if slots >= 0 else 'any number of'} slots")


def _version(api: AirflowRestApi) -> Check:
    found = str(api.ask("GET", "/api/v2/version")["version"])
    numbers = tuple(int(each) for each in re.findall(r"\d+", found)[:3])
    first, below = (".".join(map(str, each)) for each in VERSIONS)
    if VERSIONS[0] <= numbers < VERSIONS[1]:
        return Check(_VERSION, "ok", f"Airflow is {line(found)}")
    said = (
        f"Airflow is {line(found)}, expected {first} or newer, and older than {below}: this project was tried with it"
    )
    command = shlex.join(("pip", "install", f"apache-airflow>={first},<{below}"))
    return Check(_VERSION, "warning", said, {COMMANDS: (command,)})


def _dags(api: AirflowRestApi) -> Check:
    """Return whether the DAGs are there and not paused: a run of a paused DAG waits for ever."""
    found = {str(each["dag_id"]): each for each in api.ask("GET", f"/api/v2/dags?tags={_TAG}&limit=100")["dags"]}
    broken = sorted(name for name, each in found.items() if each.get("has_import_errors"))
    paused = sorted(name for name, each in found.items() if each["is_paused"])
    if broken or not found:
        said = f"{', '.join(broken)} cannot be loaded" if found else "Airflow shows no DAG of this project"
        said = f"{said}: dags_folder of every process has to be dags/, and their Python needs what requirements.txt has"
        return Check(_DAGS, "warning", said, {COMMANDS: ("airflow dags list-import-errors",)})
    if paused:
        shown = ", ".join(paused[:3]) + (f" and {len(paused) - 3} more" if len(paused) > 3 else "")
        said = f"{shown} {'are' if len(paused) > 1 else 'is'} paused, so a run waits until somebody unpauses it"
        return Check(_DAGS, "warning", said, {COMMANDS: tuple(f"airflow dags unpause --yes {each}" for each in paused)})
    return Check(_DAGS, "ok", f"{len(found)} DAGs are there, and none of them is paused")


_QUESTIONS: dict[str, Callable[[AirflowRestApi], Check]] = {
    _ANSWERS: _keeps_answers,
    _SLOTS: _slots,
    _VERSION: _version,
    _DAGS: _dags,
}
_WHAT = {_SLOTS: f"the size of {_POOL}", _VERSION: "the version of Airflow", _DAGS: "which DAGs are paused"}
