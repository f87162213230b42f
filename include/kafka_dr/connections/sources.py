"""Where connections are when Airflow is gone: one private file, or the environment."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.connections.connection import Connection
from kafka_dr.errors import Refused

#: Airflow's own prefix, so that the variables of its workers can be used as they are.
PREFIX = "AIRFLOW_CONN_"
#: The environment variable that names the file.
FILE_SETTING = "KAFKA_DR_CONNECTIONS"


@dataclass(frozen=True, slots=True)
class ConnectionSource:
    """Finds a connection by its id: first in the file, then in the environment.

    :param stored: the content of the file, by connection id
    :param environ: the environment
    :param file: what the file is called, for messages; empty without a file
    """

    environ: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, Any] = field(default_factory=dict, repr=False)
    file: str = ""

    @classmethod
    def read(cls, environ: Mapping[str, str], file: Path | None = None) -> ConnectionSource:
        """Read the file, if there is one.

        :param file: a JSON object, connections by id, as ``airflow connections export --file-format json`` writes it
        :raises Refused: it cannot be read, or others than its owner may read it
        """
        if file is None:
            return cls(environ)
        try:
            found = json.loads(private_text(file))
        except ValueError:
            raise Refused(f"the connections in {file} cannot be read: expected one JSON object, {_EXPORT}") from None
        if not isinstance(found, Mapping):
            raise Refused(f"{file} holds no JSON object of connections by id: {_EXPORT}")
        return cls(environ, found, str(file))

    def get(self, conn_id: str) -> Connection:
        """Return a connection.

        :raises Refused: neither the file nor the environment holds it, or it cannot be read
        """
        stored = self.stored.get(conn_id) or self.environ.get(PREFIX + conn_id.upper())
        if not isinstance(stored, (str, Mapping)) or not stored:
            looked = f"{self.file} and the variable" if self.file else f"{FILE_SETTING} names no file, and the variable"
            raise Refused(
                f"connection {conn_id} is not known: {looked} {PREFIX}{conn_id.upper()} is empty or not there. Write "
                f"it into the file that {FILE_SETTING} names ({_EXPORT})"
            )
        return Connection.of(conn_id, stored)


_EXPORT = "airflow connections export --file-format json writes one"


def private_text(path: Path) -> str:
    """Return the text of a file that only its owner may read or write.

    The mode is that of the file that is read, also if the name is changed to another file at the same time.

    :raises Refused: it cannot be read, or somebody else may read or write it
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise Refused(
                    f"{path} holds secrets and has the mode {mode:04o}, expected 0600: others may read it. Change the "
                    f"passwords if that is possible, then: chmod 600 {path}"
                )
            return file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {cause(error)}") from error
