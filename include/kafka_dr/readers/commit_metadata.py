"""The text that consumers commit next to an offset, called commit metadata, and whether it is right on another log.

Kafka does not know what it means. Kafka Streams keeps the time of its partition there, which holds for every log with
the same records. Others keep there what they have done after the offset, counted from it: Confluent's Parallel Consumer
skips these records. On a log where the records after the offset have other distances from it, such a text would let
unread records be skipped.
"""

from __future__ import annotations

import base64
import binascii

#: How Kafka Streams begins such a text (``TopicPartitionMetadata``): a version, then a time of eight bytes.
_STREAMS_VERSIONS, _STREAMS_BYTES = (1, 2), 9


def depends_on_what_follows(metadata: str) -> bool:
    """Return whether a text may be about records after its offset: each may that is not of Kafka Streams."""
    try:
        content = base64.b64decode(metadata, validate=True)
    except (binascii.Error, ValueError):
        return bool(metadata)
    return bool(metadata) and (len(content) < _STREAMS_BYTES or content[0] not in _STREAMS_VERSIONS)
