"""Run by itself in the lab's environment: bring Airflow's database up to date, or put the connections into it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from airflow.models.connection import Connection
from airflow.utils import db
from airflow.utils.session import create_session


def migrate() -> None:
    """Create the tables, or bring them to this version."""
    db.initdb()


def import_connections(path: Path) -> None:
    """Make the connections what the file says; others stay."""
    wanted = json.loads(path.read_text())
    with create_session() as session:
        for name, fields in wanted.items():
            session.query(Connection).filter(Connection.conn_id == name).delete()
            session.add(Connection(conn_id=name, **fields))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["migrate"]:
            migrate()
        case ["connections", file]:
            import_connections(Path(file))
        case other:
            sys.exit(f"expected `migrate` or `connections FILE`, got {other}")
