"""What is known of groups now, read from everything that is kept. No cluster is asked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kafka_dr.situations.group_now import GroupNow, group_now
from kafka_dr.watch_results import OpenRuns, RunEndings, RunningSteps, WatchResultStore, read_endings, read_status


def read_now(root: Any, groups: Iterable[str], now: datetime) -> dict[str, GroupNow]:
    """Return what is known of groups, by their names.

    :param root: the evidence root, a path object
    :param now: UTC
    :raises OSError: the storage does not answer
    """
    names = tuple(groups)
    running, asked = RunningSteps(root).read(now)[0], OpenRuns(root).read(now)[0]
    endings = read_endings(names, RunEndings(root))
    watched = read_status(names, WatchResultStore(root), now)
    return {each.group: group_now(each, endings[each.group], running, now, asked) for each in watched}
