"""How a task finds the people that the topology names: it asks the API server, which alone can ask its auth manager.

Of the simple auth manager a name is the id, so nobody has to be asked. Of all others the connection to Airflow's own
REST API is needed, which also leaves notes on runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowNotFoundException

from kafka_dr.airflow_api import CONNECTION, PEOPLE, advice
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.people import Person
from kafka_dr_airflow.task_api import ERRORS, task_api


def people_of(names: Sequence[str], roles: Sequence[str]) -> tuple[Person, ...]:
    """Return the people with one of the names or roles, as the auth manager knows them; others are left out.

    :raises Refused: the connection to Airflow's own API is missing
    :raises TryAgain: the API server does not answer, or refuses
    """
    manager = conf.get("core", "auth_manager")
    if manager.endswith(".SimpleAuthManager"):
        return _of_the_simple_one(names, roles)
    wanted = urlencode([*(("name", name) for name in names), *(("role", role) for role in roles)])
    try:
        found = task_api().ask("GET", f"{PEOPLE}?{wanted}")
        return tuple(Person(str(row["name"]), str(row["id"])) for row in found["people"])
    except AirflowNotFoundException as error:
        raise Refused(
            f"the auth manager {manager.rpartition('.')[2]} knows people by an id, and Airflow has no connection "
            f"{CONNECTION} to look it up: create it, as include/guide/set-up.md says"
        ) from error
    except ERRORS as error:
        raise TryAgain(f"Airflow's API did not say who the approvers are. {advice(error)}") from error


def _of_the_simple_one(names: Sequence[str], roles: Sequence[str]) -> tuple[Person, ...]:
    held = [user.split(":") for user in conf.getlist("core", "simple_auth_manager_users")]
    members = [user[0] for user in held if len(user) > 1 and user[1] in roles]
    return tuple(Person(name, name) for name in dict.fromkeys([*names, *members]))
