"""Committed offsets of groups: translated to the target, with how sure each is, and checked when they are set."""

from __future__ import annotations

from kafka_dr.offsets.maps import MapStore
from kafka_dr.offsets.plain_frontier import PlainFrontier
from kafka_dr.offsets.syncs.archive import SyncLookup, Undecodable, decode_sync, sync_topic
from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.offsets.translate.answers import (
    Kind,
    TranslatedOffset,
    Translation,
    badness,
    starts_of_empty,
    to_commit,
    translations_from_json,
    translations_to_json,
)
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_content import translate_by_content
from kafka_dr.offsets.translate.facts import GatheredFacts, gather
from kafka_dr.offsets.translate.local_check import LocalVerdict
from kafka_dr.offsets.translate.pipeline import for_groups, offsets_of, translate_committed, translate_offsets
from kafka_dr.offsets.translate.read_logs import Ignored
from kafka_dr.offsets.verify import CutOverProblem, before_start, decreased, not_read_back, past_end

__all__ = [
    "Ignored",
    "TranslationBasis",
    "GatheredFacts",
    "gather",
    "translate_by_content",
    "MapStore",
    "AnchorCache",
    "CachedPairs",
    "PlainFrontier",
    "Translation",
    "TranslatedOffset",
    "Kind",
    "LocalVerdict",
    "badness",
    "SyncLookup",
    "offsets_of",
    "for_groups",
    "translate_committed",
    "translate_offsets",
    "starts_of_empty",
    "to_commit",
    "translations_from_json",
    "translations_to_json",
    "CutOverProblem",
    "not_read_back",
    "past_end",
    "before_start",
    "decreased",
    "Undecodable",
    "decode_sync",
    "sync_topic",
]
