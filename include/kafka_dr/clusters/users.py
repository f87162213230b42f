"""Client quotas (KIP-546), and the users that can log in by SCRAM. Their passwords cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from kafka_dr.clusters.configuration import QuotaEntity, ScramUser
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError

_FIELDS = {"user": "user", "client-id": "client_id", "ip": "ip"}
_TYPES = {field: kind for kind, field in _FIELDS.items()}


class Quotas:
    """Reads and changes client quotas, many in one request; librdkafka's admin client cannot."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def list(self) -> dict[tuple[QuotaEntity, str], float]:
        """Return every limit, by entity and key. One request.

        :raises NotAuthorized: the principal has no DESCRIBE_CONFIGS on the cluster
        """
        doing = "read the client quotas"
        response = self._session.request(DescribeClientQuotasRequest(components=[], strict=False), doing)
        if (error := self._session.error(response.error_code, response.error_message, doing)) is not None:
            raise error
        return {
            (_entity(entry.entity), limit.key): float(limit.value)
            for entry in response.entries or ()
            for limit in entry.values
        }

    def change(self, limits: Mapping[tuple[QuotaEntity, str], float | None]) -> dict[QuotaEntity, KafkaDrError]:
        """Set limits, or remove those that are ``None``. One request.

        :returns: the errors of the entities that could not be changed
        """
        operations: dict[QuotaEntity, list[tuple[str, float, bool]]] = {}
        for (entity, key), limit in limits.items():
            operations.setdefault(entity, []).append((key, limit or 0.0, limit is None))
        if not operations:
            return {}
        doing = "change client quotas"
        entries = [(_parts(entity), wanted) for entity, wanted in operations.items()]
        response = self._session.request(AlterClientQuotasRequest(entries=entries, validate_only=False), doing)
        answers = (
            (_entity(entry.entity), self._session.error(entry.error_code, entry.error_message, doing))
            for entry in response.entries
        )
        return {entity: error for entity, error in answers if error is not None}


class ScramUsers:
    """Reads which users exist, and by which mechanisms each can log in."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def list(self) -> frozenset[ScramUser]:
        """Return every user once for each mechanism. One request.

        :raises NotAuthorized: the principal has no DESCRIBE on the cluster
        """
        future = self._session.admin.describe_user_scram_credentials(request_timeout=self._session.request_seconds)
        described = self._session.wait([future], "read the SCRAM users")[0]
        return frozenset(
            ScramUser(name, info.mechanism.name.replace("_", "-"))
            for name, found in described.items()
            for info in found.scram_credential_infos
        )


def _entity(parts: Any) -> QuotaEntity:
    """Read an entity. The default of a kind has no name in the protocol."""
    return QuotaEntity(
        **{_FIELDS[part.entity_type]: part.entity_name or "" for part in parts if part.entity_type in _FIELDS}
    )


def _parts(entity: QuotaEntity) -> list[tuple[str, str | None]]:
    named = ((kind, getattr(entity, field)) for field, kind in _TYPES.items())
    return [(kind, name or None) for kind, name in named if name is not None]
