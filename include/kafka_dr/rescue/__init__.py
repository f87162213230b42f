"""Stranded records: read from the list that is kept of them, and published again to the active cluster, each once."""

from __future__ import annotations

from kafka_dr.rescue.compared import Compared, compare_with
from kafka_dr.rescue.content import content_opener
from kafka_dr.rescue.erasing import KeptList, Matches, Wanted, made_at
from kafka_dr.rescue.kept import KeptRecord, erased_records, missing_from, read_partition
from kafka_dr.rescue.ledger import LEDGER_TOPIC, LedgerEntry, read_ledger
from kafka_dr.rescue.publishing import Rescue, Rescued
from kafka_dr.rescue.routing import Destination, KeysSince, destination, stranded_topic

__all__ = [
    "KeptRecord",
    "read_partition",
    "missing_from",
    "erased_records",
    "KeptList",
    "Wanted",
    "Matches",
    "made_at",
    "content_opener",
    "Compared",
    "compare_with",
    "Destination",
    "destination",
    "stranded_topic",
    "KeysSince",
    "LEDGER_TOPIC",
    "LedgerEntry",
    "read_ledger",
    "Rescue",
    "Rescued",
]
