"""The folders that audits leave below the evidence root: one for each run, named by its time, kept for so long."""

from __future__ import annotations

import logging
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_STAMP = "%Y%m%dT%H%M%SZ"
_OURS = re.compile(r"(\d{8}T\d{6}Z)\..+")
_LOG = logging.getLogger(__name__)


def report_folder(now: datetime, run_id: str, try_number: int) -> str:
    """Return the name of the folder of one try: what an earlier try left is never read for this one's.

    :param now: when it began, aware
    """
    return f"{now.astimezone(UTC).strftime(_STAMP)}.{run_id}.{try_number}"


def prune(folder: Any, *, now: datetime, keep: timedelta) -> int:
    """Remove the folders of audits that began too long ago, and nothing else; what cannot be removed is left.

    :param folder: of one kind of audit and one flow
    :param now: aware
    :param keep: how long they are kept
    :returns: how many were removed
    """
    removed = 0
    try:
        places = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0
    for place in places:
        found = _OURS.fullmatch(place.name)
        if found is None or now - datetime.strptime(found[1], _STAMP).replace(tzinfo=UTC) <= keep:
            continue
        try:
            _remove(place)
            removed += 1
        except OSError as error:
            _LOG.warning("%s is too old and could not be removed (%s).", place, error)
    return removed


def _remove(place: Any) -> None:
    if isinstance(place, Path):
        shutil.rmtree(place)
    else:
        place.rmdir(recursive=True)
