"""Users that can log in by SCRAM. What they log in with cannot be read."""

from __future__ import annotations

from kafka_dr.clusters.configuration import ScramUser
from kafka_dr.clusters.session import ClusterSession


class ScramUsers:
    """Reads which users exist, and by which mechanisms each can log in."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def list(self) -> frozenset[ScramUser]:
        """Return every user once for each mechanism: one request.

        :raises NotAuthorized: the principal has no DESCRIBE on the cluster
        """
        future = self._session.admin.describe_user_scram_credentials(request_timeout=self._session.request_seconds)
        described = self._session.wait([future], "read the SCRAM users")[0]
        return frozenset(
            ScramUser(name, info.mechanism.name.replace("_", "-"))
            for name, found in described.items()
            for info in found.scram_credential_infos
        )
