"""Airflow's real FAB auth manager makes the roles of a script, and is asked what each of them may do.

Run as ``python -m support.fab_roles SCRIPT`` where Airflow's settings name that auth manager, and a migrated database.
It prints one JSON object: what each role may do of everything that is asked.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from airflow.api_fastapi.app import create_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.cli import cli_parser
from airflow.utils.session import create_session

_ASKED = {
    "see runs": ("GET", DagAccessEntity.RUN),
    "see questions": ("GET", DagAccessEntity.HITL_DETAIL),
    "begin runs": ("POST", DagAccessEntity.RUN),
    "write notes": ("PUT", DagAccessEntity.RUN),
    "delete runs": ("DELETE", DagAccessEntity.RUN),
    "answer questions": ("PUT", DagAccessEntity.HITL_DETAIL),
    "clear tasks": ("PUT", DagAccessEntity.TASK_INSTANCE),
}


def main(script: str) -> None:
    """Run the script, and ask."""
    parser = cli_parser.get_parser()
    for line in Path(script).read_text().splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["airflow"]:
            given = parser.parse_args(words[1:])
            given.func(given)
    manager = create_auth_manager()
    from airflow.providers.fab.auth_manager.models import Role, User

    found = {}
    with create_session() as session:
        for role in session.query(Role).all():
            user = User(username=role.name, first_name="x", last_name="x", email=role.name, active=True, roles=[role])
            dag = DagDetails(id="dr_planned_failover")
            may = [
                what
                for what, (method, entity) in _ASKED.items()
                if manager.is_authorized_dag(method=method, access_entity=entity, details=dag, user=user)
            ]
            may += ["see the pool"] if manager.is_authorized_pool(method="GET", user=user) else []
            may += ["see connections"] if manager.is_authorized_connection(method="GET", user=user) else []
            found[role.name] = sorted(may)
        session.rollback()
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
