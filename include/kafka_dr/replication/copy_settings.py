"""What a flow's connector needs for the topics that it copies: how large their records may be, and how they are stored.

A connector has one producer for each task, and a task copies many topics. So its limits follow the topic with the
largest ``max.message.bytes``, and its codec is the one in which most bytes of the flow's topics are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from kafka_dr.clusters import KafkaCluster
from kafka_dr.clusters.batches import Codec

CODEC = "producer.override.compression.type"
REQUEST = "producer.override.max.request.size"
#: Of an original without a codec: the line between datacenters is slow, and lz4 costs little.
DEFAULT_CODEC: Codec = "lz4"
_CODECS: tuple[Codec, ...] = get_args(Codec)

_LIMIT, _KIND = "max.message.bytes", "compression.type"
_MIB = 1024 * 1024
#: Kafka's default of ``max.message.bytes``.
USUAL_LIMIT = 1_048_588
#: A producer compares its limit with the record before it is compressed. Texts shrink to a tenth, a few to less.
_EXPANDS, _LEAST_REQUEST = 16, 16 * _MIB
#: A broker closes the connection of a request above ``socket.request.max.bytes``, by default 100 MiB.
_MOST_REQUEST = 96 * _MIB


@dataclass(frozen=True, slots=True)
class CopySettings:
    """What the topics of a flow ask of its connector.

    :param largest: the largest ``max.message.bytes`` of the topics
    :param too_large: topics whose records may be larger than a flow can copy, with their ``max.message.bytes``
    """

    codec: Codec = DEFAULT_CODEC
    largest: int = USUAL_LIMIT
    too_large: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, limits: Mapping[str, int], codec: Codec = DEFAULT_CODEC) -> CopySettings:
        """Return what topics with these ``max.message.bytes`` ask for."""
        too_large = sorted((name, limit) for name, limit in limits.items() if limit > _MOST_REQUEST)
        return cls(codec, max(limits.values(), default=USUAL_LIMIT), tuple(too_large))

    @property
    def most_record_bytes(self) -> int:
        """How large a record may be before it is compressed, in bytes."""
        return min(max(_LEAST_REQUEST, _EXPANDS * self.largest), _MOST_REQUEST)

    @property
    def buffer_bytes(self) -> int:
        """How much a producer may hold, in bytes; it takes the memory when it needs it."""
        return max(64 * _MIB, 2 * self.most_record_bytes)

    @property
    def sentence(self) -> str:
        """Name the topics whose records may be too large; empty if there are none."""
        if not self.too_large:
            return ""
        named = ", ".join(f"{name} ({limit:,})" for name, limit in self.too_large[:3])
        more = f" and {len(self.too_large) - 3} more topics" if len(self.too_large) > 3 else ""
        return (
            f"a flow copies no record above {self.most_record_bytes:,} bytes, and {named}{more} may hold larger ones: "
            "lower max.message.bytes on both clusters. The first such record stops the flow"
        )


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Bytes of a topic on the source's disks.

    :param compression: the topic's ``compression.type``
    :param codec: of the newest batch; ``None`` if none was seen
    """

    compression: str
    codec: Codec | None
    stored: int

    @property
    def copied_as(self) -> Codec:
        """The codec that its copies should have."""
        if self.compression == "uncompressed":
            return "none"
        if self.compression in _CODECS:
            return self.compression
        return DEFAULT_CODEC if self.codec in (None, "none") else self.codec


def codec_for(found: Iterable[StoredBytes], present: str | None) -> Codec:
    """Return the codec of a connector: the one that most bytes should have.

    What the connector has stays until another codec has more than half of them: each change restarts its tasks.

    :param present: the codec that the connector has; ``None`` if it has none of its own
    """
    stored: Counter[Codec] = Counter()
    for each in found:
        stored[each.copied_as] += max(1, each.stored)
    ((most, count),) = stored.most_common(1) or ((DEFAULT_CODEC, 1),)
    if present in _CODECS and (not stored or 2 * count <= stored.total()):
        return present
    return most


def read_copy_settings(source: KafkaCluster, owns: Callable[[str], bool], config: Mapping[str, str]) -> CopySettings:
    """Return what the topics of a flow ask of its connector.

    :param source: the cluster that is read
    :param owns: whether the flow copies a topic of that name
    :param config: of the connector as it is; empty for a new one
    :raises KafkaDrError: the source cannot be asked
    """
    leaders = source.topics.leaders(filter(owns, source.topics.names()))
    names = {p.topic for p in leaders}
    settings = source.topics.settings(names, [_LIMIT, _KIND])
    limits = {name: int(each.get(_LIMIT, USUAL_LIMIT)) for name, each in settings.items()}
    kinds = {name: each.get(_KIND, "producer") for name, each in settings.items()}
    unset = {p: broker for p, broker in leaders.items() if kinds[p.topic] == "producer"}
    seen = source.batches.newest_codecs(source.topics.high_watermarks(unset), unset)
    sizes = source.log_sizes.of(names)
    stored = [StoredBytes(kinds[p.topic], seen.get(p), sizes.get(p, 0)) for p in leaders]
    return CopySettings.of(limits, codec_for(stored, config.get(CODEC)))


def read_limits(source: KafkaCluster, names: Iterable[str]) -> dict[str, int]:
    """Return ``max.message.bytes`` of topics, by name.

    :raises NotFound: one of the topics does not exist
    """
    settings = source.topics.settings(names, [_LIMIT])
    return {name: int(each.get(_LIMIT, USUAL_LIMIT)) for name, each in settings.items()}
