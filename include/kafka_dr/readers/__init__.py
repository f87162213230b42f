"""Readers that need more than a moved offset: how each kind is recognised, and what its owners do on another cluster.

It knows no protection group: what a failover makes of a reader is decided by its verbs. An observed flow and the audits
have the same readers, the same recognition and the same words.
"""

from __future__ import annotations

from kafka_dr.readers.commit_metadata import depends_on_what_follows
from kafka_dr.readers.covered import CoveredReader, CoveredReaders, ReaderKind, covered_readers, reader_of
from kafka_dr.readers.instructions import (
    SINK_MOVE,
    SINK_OWN_OFFSETS,
    reset_application,
    restart_share_group,
)
from kafka_dr.readers.recognition import StreamsApplication, found_on, sink_of

__all__ = [
    "covered_readers",
    "depends_on_what_follows",
    "CoveredReaders",
    "CoveredReader",
    "ReaderKind",
    "reader_of",
    "found_on",
    "StreamsApplication",
    "sink_of",
    "restart_share_group",
    "reset_application",
    "SINK_MOVE",
    "SINK_OWN_OFFSETS",
]
