"""How a job reaches the clusters: one private file of connections, named by ``KAFKA_DR_SECRETS_FILE``.

The file is JSON, ``{connection id: settings}``, and readable by its owner alone. The settings are librdkafka's, as in
the extra of an Airflow ``kafka`` connection. The jobs need the connections of the audit role, of an observed flow those
of its observer, and stranded_records that of ``evidence.encryption_connection``, ``{"key_id": …, "key": …}``, if the
topology names one; no others::

    {"kafka_east_audit": {"bootstrap.servers": "…", "security.protocol": "…", "sasl.password": "…"}}

By hand it may also be the file of the command line, as ``airflow connections export --file-format json`` writes it.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafka_dr.audit.content_keys import ContentKeys, KeyUnusable
from kafka_dr.causes import cause
from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import Refused

SETTING = "KAFKA_DR_SECRETS_FILE"
#: The fields of a key, and those of the exported connection that has it.
_OF_A_KEY = {"key_id": "login", "key": "password"}
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class JobConnections:
    """The connections of one file. Their settings are never part of ``repr``.

    :param source: the file, for messages
    """

    source: Path
    _settings: Mapping[str, Mapping[str, Any]] = field(repr=False)

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> JobConnections:
        """Read the file that the environment names.

        :raises Refused: no file is named, it cannot be read, other users may read it, or it has another form
        """
        named = environ.get(SETTING)
        if not named:
            raise Refused(f"{SETTING} is not set: name a private JSON file of connection id → client settings")
        path = Path(named)
        try:
            mode = path.stat().st_mode
            if mode & _OTHERS:
                raise Refused(f"{path} has mode {stat.S_IMODE(mode):04o}, others may read it: chmod 600 {path}")
            content = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise Refused(f"{path} ({SETTING}) cannot be read: {cause(error)}") from error
        except ValueError:
            # Without the cause: its text could quote the file.
            raise Refused(
                f"{path} ({SETTING}) is not JSON: write an object of connection id → client settings"
            ) from None
        if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
            raise Refused(f"{path} ({SETTING}) has another form: write an object of connection id → client settings")
        return cls(path, content)

    def __contains__(self, connection_id: str) -> bool:
        return connection_id in self._settings

    def kafka(self, connection_id: str) -> ClientSettings:
        """Return how a principal reaches a cluster.

        :raises Refused: the file has no such connection, or it cannot be used
        """
        found = self._of(connection_id)
        exported = found.get("extra", found)
        try:
            settings = json.loads(exported) if isinstance(exported, str) else exported
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            raise Refused(f"{self.source}, connection {connection_id}: its extra is not a JSON object")
        return replace(ClientSettings.from_librdkafka(settings), connection=connection_id)

    def content_keys(self, connection_id: str) -> ContentKeys:
        """Return the key that encrypts the content of stranded records.

        :raises Refused: the file has no such connection, or it holds no key
        """
        found = self._of(connection_id)
        try:
            key_id, key = (found.get(name, found.get(exported, "")) for name, exported in _OF_A_KEY.items())
            return ContentKeys.of(str(key_id), str(key), {})
        except KeyUnusable as error:
            raise Refused(f"{self.source}, connection {connection_id}: {error}") from error

    def _of(self, connection_id: str) -> Mapping[str, Any]:
        if connection_id not in self._settings:
            known = ", ".join(sorted(self._settings)) or "none"
            raise Refused(f"{self.source} has no connection {connection_id!r}: it has {known}")
        return self._settings[connection_id]
