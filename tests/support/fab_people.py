"""Airflow's real FAB auth manager, with people, a role and a group in a database of its own, is asked who they are.

Run as ``python -m support.fab_people NAMES ROLES``, both JSON lists, where Airflow's settings name that auth manager
and a database. It prints one JSON object: the people that were found, and the id that Airflow gives each of them.
"""

from __future__ import annotations

import json
import sys

from airflow import settings
from airflow.api_fastapi.app import create_auth_manager
from airflow.utils.session import create_session

from kafka_dr_airflow.people.auth_managers import directory_of, find

_ROLE = "dr approvers"


def main(names: str, roles: str) -> None:
    """Make the people, and ask for some of them."""
    manager = create_auth_manager()
    # Its models are importable only after that.
    from airflow.providers.fab.auth_manager.models import Group, Model, Role, User

    def person(name: str, *, active: bool = True, **more: object) -> object:
        return User(username=name, first_name=name, last_name="", email=f"{name}@bank", active=active, **more)

    Model.metadata.create_all(settings.engine)
    with create_session() as session:
        role = Role(name=_ROLE)
        session.add_all([person("carol", active=False, roles=[role]), person("erin"), person("alice")])
        session.add(person("bob", roles=[role]))
        session.flush()
        session.add(Group(name="on-call", label="", description="", roles=[role], users=[person("dave")]))
    with create_session() as session:
        ids = {user.username: user.get_id() for user in session.query(User)}
    found = find(directory_of(manager), names=json.loads(names), roles=json.loads(roles))
    answer = {"manager": type(manager).__name__, "ids": ids, "found": [[each.name, each.id] for each in found]}
    print(json.dumps(answer))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
