"""When records were made: the first one at or after an offset, for many offsets at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition

#: Offsets that are looked at behind each place, in the first round and in the last.
_WINDOWS = (16, 256, 4_096)
Places = Mapping[TopicPartition, Collection[int]]


def moments(
    cluster: KafkaCluster, places: Places, held: Mapping[TopicPartition, OffsetRange]
) -> dict[tuple[TopicPartition, int], int]:
    """Return when the first record at or after each place was made, in milliseconds since the epoch.

    :param cluster: as audit
    :param held: what the cluster holds of each partition
    :returns: without the places that no record follows closely
    """
    found: dict[tuple[TopicPartition, int], int] = {}
    for window in _WINDOWS:
        left = {p: {at for at in wanted if (p, at) not in found} for p, wanted in places.items() if p in held}
        ranges = {
            (p, at): OffsetRange(begin, min(held[p].end, begin + window))
            for p, wanted in left.items()
            for at in wanted
            if (begin := max(at, held[p].start)) < held[p].end
        }
        for layer in _layers(ranges):
            asked = dict(layer)
            for record in cluster.log.read({p: ranges[p, at] for p, at in layer}):
                found.setdefault((record.topic_partition, asked[record.topic_partition]), record.timestamp_ms)
    return found


def _layers(ranges: Collection[tuple[TopicPartition, int]]) -> list[list[tuple[TopicPartition, int]]]:
    """Put the places into layers, each with at most one of every partition: what one consumer can read at once."""
    layers: list[list[tuple[TopicPartition, int]]] = []
    seen: dict[TopicPartition, int] = {}
    for partition, at in sorted(ranges):
        number = seen.get(partition, 0)
        seen[partition] = number + 1
        if number == len(layers):
            layers.append([])
        layers[number].append((partition, at))
    return layers
