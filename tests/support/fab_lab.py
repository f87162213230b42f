"""A lab whose Airflow has the FAB auth manager, with the roles that ``init`` proposes and people who have them.

Run as ``python -m support.fab_lab SCRIPT`` in the environment of that Airflow, it makes the database, the roles of the
script, and the people; their passwords come as JSON on the standard input.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from kafka_dr import set_up
from lab import airflow_home
from lab.airflow_services import Airflow
from lab.bootstrap import REQUIREMENTS, pins_digest
from lab.credentials import AIRFLOW_USERS, NOTES
from lab.jvm import Jvm
from lab.processes import inherited
from support.airflow_lab import QuickLab
from support.installed_apart import fab_environ

#: Who has which roles. Carol only reads.
PEOPLE = {
    "admin": ("Admin",),
    "alice": ("Viewer", "kafka-dr-requester", "kafka-dr-approver"),
    "bob": ("Viewer", "kafka-dr-approver"),
    "carol": ("Viewer",),
    NOTES: ("kafka-dr-bot",),
}
_ROLES = Path(str(set_up.__file__)).parent / "templates" / "fab-roles.sh"
_SECONDS = 300.0
_WRITES_RIGHTS = "AIRFLOW__FAB__UPDATE_FAB_PERMS"


class FabLab(QuickLab):
    """A lab where people log in on FAB's page.

    FAB's rights are written once, before Airflow starts: its API server would write them while its other processes
    write to the same SQLite, and FAB does not wait for a database that is busy.
    """

    #: A person reads a question before the answer.
    expiry_seconds = 300

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a lab for tests, with FAB before everything else on the path of Airflow."""
        of_fab = fab_environ(self.home.airflow)
        wanted = {name: of_fab[name] for name in ("PYTHONPATH", "AIRFLOW__CORE__AUTH_MANAGER")}
        return {**super().environ, **wanted, _WRITES_RIGHTS: "False"}

    def _airflow(self, jvm: Jvm) -> Airflow:
        made = super()._airflow(jvm)
        if not (self.home.airflow / "airflow.db").exists():
            airflow_home.write(self._context(), dags=airflow_home.DAGS)
            passwords = {user: self._context().credentials.airflow(user) for user in AIRFLOW_USERS}
            done = subprocess.run(
                [sys.executable, "-m", "support.fab_lab", str(_ROLES)],
                input=json.dumps(passwords), text=True, capture_output=True, timeout=_SECONDS, check=False,
                env={**inherited(), **self.environ, "AIRFLOW_HOME": str(self.home.airflow), _WRITES_RIGHTS: "True"},
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            # So the launcher, from which all processes are forked, opens no database of FAB, which it would not close.
            done_before = {"pins": pins_digest(REQUIREMENTS.read_text())}
            (self.home.airflow / "database.json").write_text(json.dumps(done_before))
        return made


def main(script: str) -> None:
    """Make database, roles and people."""
    from airflow.cli import cli_parser
    from airflow.utils import db

    passwords = json.load(sys.stdin)
    db.initdb()
    parser = cli_parser.get_parser()

    def run(*words: str) -> None:
        given = parser.parse_args(words)
        given.func(given)

    for line in Path(script).read_text("utf-8").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["airflow"]:
            run(*words[1:])
    for name, (first, *more) in PEOPLE.items():
        named = ("--firstname", name, "--lastname", name, "--email", f"{name}@example.com")
        run("users", "create", "--username", name, "--role", first, *named, "--password", passwords[name])
        for role in more:
            run("users", "add-role", "--username", name, "--role", role)
    run("sync-perm")


if __name__ == "__main__":
    main(*sys.argv[1:])
