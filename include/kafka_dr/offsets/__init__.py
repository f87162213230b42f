"""Positions of groups: carried to the other cluster, with how sure each is, and checked when set."""

from __future__ import annotations

from kafka_dr.offsets.audited import AuditedPairs
from kafka_dr.offsets.bracketing import BracketingOffsetMap
from kafka_dr.offsets.cut_over import CutOverProblem, decreased, not_read_back, past_end
from kafka_dr.offsets.known_syncs import KnownSyncs
from kafka_dr.offsets.last_look import FileLookStore, LastLook
from kafka_dr.offsets.plain_frontier import PlainFrontier
from kafka_dr.offsets.reading import Aside
from kafka_dr.offsets.remembered import FilePairStore, Pairs
from kafka_dr.offsets.syncs import Checkpoint, OffsetSync, Undecodable, decode_checkpoint, decode_sync, sync_topic
from kafka_dr.offsets.translation import (
    Kind,
    OffsetMap,
    TranslatedOffset,
    Translation,
    badness,
    starts_of_empty,
    translate_groups,
)

__all__ = [
    "OffsetMap",
    "Aside",
    "BracketingOffsetMap",
    "AuditedPairs",
    "FilePairStore",
    "Pairs",
    "PlainFrontier",
    "FileLookStore",
    "LastLook",
    "Translation",
    "TranslatedOffset",
    "Kind",
    "badness",
    "KnownSyncs",
    "translate_groups",
    "starts_of_empty",
    "CutOverProblem",
    "not_read_back",
    "past_end",
    "decreased",
    "OffsetSync",
    "Checkpoint",
    "Undecodable",
    "decode_sync",
    "decode_checkpoint",
    "sync_topic",
]
