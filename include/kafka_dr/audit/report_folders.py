"""The folders of audit reports below the evidence root: one for each run, named after its time, removed when old."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime, timedelta
from typing import Any

_STAMP = "%Y%m%dT%H%M%SZ"
_REPORT_FOLDER = re.compile(r"(\d{8}T\d{6}Z)\..+")
_LOG = logging.getLogger(__name__)


def report_folder(now: datetime, run_id: str, try_number: int) -> str:
    """Return the name of the folder of one try. Each try has its own, so the report of another one is never read.

    :param now: when the try began, aware
    """
    return f"{now.astimezone(UTC).strftime(_STAMP)}.{run_id}.{try_number}"


def is_report_folder(name: str) -> bool:
    """Return whether a name is that of the report of one try; an audit keeps other things next to its reports."""
    return _REPORT_FOLDER.fullmatch(name) is not None


def prune(folder: Any, *, now: datetime, keep: timedelta) -> int:
    """Remove the folders of old audits, and nothing else. A folder that cannot be removed stays, with a warning.

    :param folder: the reports of one kind of audit and one flow; a folder in it is removed with all that it holds
    :param now: aware
    :param keep: how long a report is kept
    :returns: how many folders were removed
    """
    removed = 0
    try:
        found = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0
    for path in found:
        named = _REPORT_FOLDER.fullmatch(path.name)
        if named is None or now - datetime.strptime(named[1], _STAMP).replace(tzinfo=UTC) <= keep:
            continue
        try:
            path.rmdir(recursive=True)
            removed += 1
        except OSError as error:
            _LOG.warning("%s is older than %s and could not be removed (%s): remove it by hand.", path, keep, error)
    return removed
