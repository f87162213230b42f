"""Run by itself in the lab's environment: load Airflow once, bring its database up to date, then fork its processes.

Each of Airflow's processes would spend most of its start on the same imports. Here they are paid for once. What is to
be done comes as JSON on the standard input, because a command line is public.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from airflow.__main__ import main
from airflow.models import import_all_models
from airflow.models.connection import Connection
from airflow.settings import dispose_orm, reconfigure_orm
from airflow.utils import db
from airflow.utils.session import create_session

from lab.airflow_tuning import preload, prepare
from lab.layout import Home
from lab.processes import Command, Supervisor


def launch(plan: dict[str, Any]) -> None:
    """Do what the plan says: ``migrate``, ``connections``, ``processes``.

    The processes are on record before this returns, so that an interrupted ``up`` finds them again.
    """
    import_all_models()
    preload()
    if plan["migrate"]:
        db.initdb()
    if plan["connections"]:
        import_connections(Path(plan["connections"]))
    dispose_orm()
    supervisor = Supervisor(Home(Path(plan["home"])))
    for process in plan["processes"]:
        arguments = process.pop("arguments")
        command = Command(**{**process, "argv": tuple(process["argv"]), "folder": Path(process["folder"])})
        log = supervisor.fresh_log(command.name)
        pid = os.fork()
        if pid == 0:
            _become(arguments, log)
        supervisor.record(command, pid)


def import_connections(path: Path) -> None:
    """Make the connections what the file says; others stay."""
    wanted = json.loads(path.read_text())
    with create_session() as session:
        for name, fields in wanted.items():
            session.query(Connection).filter(Connection.conn_id == name).delete()
            session.add(Connection(conn_id=name, **fields))


def _become(arguments: list[str], log: Path) -> None:
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    reconfigure_orm()
    sys.argv = ["airflow", *arguments]
    prepare(arguments[0])
    code = 1
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()  # this process ends below, before Python would show it
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    launch(json.load(sys.stdin))
