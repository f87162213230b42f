"""How Kafka's own tools reach a cluster, as a person types it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

#: The settings of a client that may change access rules, in the folder in which a person types the commands.
ADMIN_FILE = "admin.properties"


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """How the tools reach a cluster as one principal.

    :param bootstrap_servers: ``host:port`` pairs
    :param client_file: the file with the settings of a Java client
    """

    cluster: str
    bootstrap_servers: str
    client_file: str

    def tool(self, name: str, option: str = "--command-config") -> str:
        """Return the beginning of a command.

        :param option: by which the tool takes the client settings
        """
        servers, file = shlex.quote(self.bootstrap_servers), shlex.quote(self.client_file)
        return f"{name} --bootstrap-server {servers} {option} {file}"
