"""Client quotas (KIP-546), which librdkafka's admin client lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.clusters.python_requests import ask, error_of
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError

_FIELDS = {"user": "user", "client-id": "client_id", "ip": "ip"}
_TYPES = {field: kind for kind, field in _FIELDS.items()}


class Quotas:
    """Reads and changes client quotas, all of them at once."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def list(self) -> dict[tuple[QuotaEntity, str], float]:
        """Return every limit, by entity and key: one request.

        :raises NotAuthorized: the principal has no DESCRIBE_CONFIGS on the cluster
        """
        doing = "read the client quotas"
        response = ask(self._session, DescribeClientQuotasRequest(components=[], strict=False), doing)
        if (error := error_of(self._session, response.error_code, response.error_message, doing)) is not None:
            raise error
        return {
            (_entity(entry.entity), limit.key): float(limit.value)
            for entry in response.entries or ()
            for limit in entry.values
        }

    def change(self, limits: Mapping[tuple[QuotaEntity, str], float | None]) -> dict[QuotaEntity, KafkaDrError]:
        """Set limits, or remove those that are ``None``: one request. Return the entities that could not be changed."""
        operations: dict[QuotaEntity, list[tuple[str, float, bool]]] = {}
        for (entity, key), limit in limits.items():
            operations.setdefault(entity, []).append((key, limit or 0.0, limit is None))
        if not operations:
            return {}
        doing = "change client quotas"
        entries = [(_parts(entity), wanted) for entity, wanted in operations.items()]
        response = ask(self._session, AlterClientQuotasRequest(entries=entries, validate_only=False), doing)
        answers = (
            (_entity(entry.entity), error_of(self._session, entry.error_code, entry.error_message, doing))
            for entry in response.entries
        )
        return {entity: error for entity, error in answers if error is not None}


def _entity(parts: Any) -> QuotaEntity:
    """Read an entity. The default of a kind has no name on the wire."""
    return QuotaEntity(
        **{_FIELDS[part.entity_type]: part.entity_name or "" for part in parts if part.entity_type in _FIELDS}
    )


def _parts(entity: QuotaEntity) -> list[tuple[str, str | None]]:
    named = ((kind, getattr(entity, field)) for field, kind in _TYPES.items())
    return [(kind, name or None) for kind, name in named if name is not None]
