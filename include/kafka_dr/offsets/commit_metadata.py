"""Carries commit metadata to the other log where it is right there, and says why where it is left out. Pure.

A text that is left out costs less than one that is wrong: what it says was done is done again, and nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.positions import metadata_of
from kafka_dr.readers.commit_metadata import depends_on_what_follows

#: What a broker takes if nobody has changed ``offset.metadata.max.bytes``.
USUAL_LIMIT = 4096


def carried(
    each: TranslatedOffset, committed: int, *, is_exact: bool, limit: int, other_distances: str
) -> TranslatedOffset:
    """Add the text of a committed offset to its translation, or why it is left out.

    :param committed: the offset on the source, with its text
    :param is_exact: whether the offset on the target is exactly this one of the source
    :param limit: how many bytes the target takes
    :param other_distances: why the records after the offset may have other distances from it on the target; empty if
        they have the same
    """
    metadata = metadata_of(committed)
    if not metadata:
        return each
    unfit = [
        said
        for applies, said in (
            (not is_exact, "its offset is not exact there"),
            (len(metadata.encode()) > limit, f"the other cluster takes {limit:,} bytes at most"),
            (bool(other_distances) and depends_on_what_follows(metadata), other_distances),
        )
        if applies
    ]
    return replace(each, metadata_left_out=unfit[0]) if unfit else replace(each, metadata=metadata)


def other_distances(source: Sequence[int], target: Sequence[int], at: tuple[int, int]) -> str:
    """Return why the records after an offset have other distances from it on the target; empty if they have the same.

    :param source: offsets of all records of the source from the offset on
    :param target: offsets of their copies
    :param at: the offset on the source and on the target, next to read
    """
    if len(target) < len(source):
        return "not every record after its offset is copied yet"
    apart = [each - at[0] for each in source], [each - at[1] for each in target[: len(source)]]
    return "" if apart[0] == apart[1] else "the records after its offset have other distances from it there"
