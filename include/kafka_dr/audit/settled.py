"""What checksum audits have settled of a flow: of what is below, no later audit says anything else.

It is read from the state that each audit leaves for the next one, below
``audits/<subject>/checksum/<source>-to-<target>/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.audit.coverage import Coverage
from kafka_dr.audit.result import AuditKind
from kafka_dr.json_documents import parsed
from kafka_dr.positions import TopicPartition


@dataclass(frozen=True, slots=True)
class SettledPartition:
    """One partition.

    :param until: next to compare on the source and on the target
    :param open: records with an open finding below, by kind
    :param coverage: of the source's offsets below
    """

    until: tuple[int, int]
    open: Mapping[str, int]
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class SettledFlow:
    """One flow.

    :param clusters: the ids of source and target
    :param at: when the ends of the logs were read that the newest audit compared, aware
    :param topic_ids: by topic, its id on the source and on the target
    """

    clusters: tuple[str, str]
    at: datetime
    topic_ids: Mapping[str, tuple[str, str]]
    partitions: Mapping[TopicPartition, SettledPartition]


def read_settled(root: Any, subject: str, direction: str) -> SettledFlow | None:
    """Return what is settled of a flow; ``None`` if it was never audited.

    :param root: the evidence root, a path object
    :param subject: the protection group or the observed flow
    :param direction: ``SOURCE-to-TARGET``
    :raises DocumentDamaged: the file holds something else
    :raises OSError: the storage does not answer
    """
    path = root.joinpath("audits", subject, str(AuditKind.CHECKSUM), direction, "state.json")
    try:
        return parsed(path.read_bytes(), _settled)
    except FileNotFoundError:
        return None


def _settled(content: Any) -> SettledFlow:
    source, target, _ = content["identity"]
    return SettledFlow(
        (str(source), str(target)),
        max(datetime.fromisoformat(scan["at"]) for scan in content["scans"]),
        {topic: (str(ids[0]), str(ids[1])) for topic, ids in content["topic_ids"].items()},
        {
            TopicPartition(str(each["partition"][0]), int(each["partition"][1])): SettledPartition(
                (int(each["resume"][0]), int(each["resume"][1])),
                {str(kind): int(count) for kind, count in each["open"].items()},
                Coverage(**{name: int(count) for name, count in each["coverage"].items()}),
            )
            for each in content["partitions"]
        },
    )
