"""A plan's rows: what differs, what that means, and what would fix it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafka_dr.clusters.configuration import NewTopic, QuotaEntity
from kafka_dr.clusters.model import Acl


class ItemVerdict(StrEnum):
    """What may be done about a difference."""

    #: Applied without asking, where the topology says so.
    SAFE = "safe"
    #: Applied when an approver has said yes to exactly this plan.
    APPROVAL = "needs approval"
    #: No program does this; the reason says who can.
    NEVER = "never"
    #: One cluster could not be read, so nobody knows.
    UNKNOWN = "unknown"
    #: Allowed by policy, and said so that nobody has to find out in a disaster.
    NOTE = "note"


class ItemKind(StrEnum):
    """What a row is about."""

    TOPIC = "topic"
    PARTITIONS = "partitions"
    CONFIG = "config"
    ACL = "ACL"
    QUOTA = "quota"
    USER = "SCRAM user"
    FLOW = "flow"
    BROKER = "broker setting"


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create a topic on the standby."""

    topic: NewTopic


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Raise a topic's number of partitions to ``total``."""

    topic: str
    total: int


@dataclass(frozen=True, slots=True)
class SetConfig:
    """Set one configuration of a topic."""

    topic: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class AddAcl:
    """Add an ACL."""

    acl: Acl


@dataclass(frozen=True, slots=True)
class RemoveAcl:
    """Remove an ACL."""

    acl: Acl


@dataclass(frozen=True, slots=True)
class SetQuota:
    """Set a client quota; ``None`` removes it."""

    entity: QuotaEntity
    key: str
    limit: float | None


Change = CreateTopic | AddPartitions | SetConfig | AddAcl | RemoveAcl | SetQuota


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a plan.

    :param subject: the topic, ACL, entity or user
    :param key: the configuration or quota key; empty for everything else
    :param active: what the active cluster has, ``None`` where it has nothing
    :param standby: what the standby has, ``None`` where it has nothing
    :param reason: one sentence: why this verdict
    :param blocks: whether no switch may begin while it is so
    :param change: what fixes it; ``None`` if nothing may be done
    """

    kind: ItemKind
    subject: str
    key: str
    active: str | None
    standby: str | None
    verdict: ItemVerdict
    reason: str
    blocks: bool = False
    change: Change | None = None

    @property
    def about(self) -> tuple[str, str, str]:
        """What the row is about, whatever its values are: no two rows of a plan are about the same."""
        return (self.kind, self.subject, self.key)

    def __str__(self) -> str:
        name = f"{self.subject} {self.key}".rstrip()
        return f"{self.kind} {name}: {_shown(self.active)} on the active cluster, {_shown(self.standby)} on the standby"


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value
