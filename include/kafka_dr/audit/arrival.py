"""What may still come, and what has to be there: one rule for all who compare a log that is being copied."""

from __future__ import annotations


def may_still_come(offset: int, *, passed: int, hidden: bool) -> bool:
    """Return whether a record that was not found on the target may still come, rather than being lost.

    The order of questions decides. First the flow is asked how far it is, then the target where its log ends: what the
    flow had passed by then has to be there, unless an open transaction hides it. Asked the other way round, whatever
    crosses between the two questions would be called lost.

    :param offset: *of* the record on the source
    :param passed: next to be copied, asked before the target's end
    :param hidden: whether the target's log goes on after what its readers see, asked in between
    """
    return hidden or offset >= passed
