"""Looks for rounds without clusters: they are found by name in the child process."""

from __future__ import annotations

import os
import time

from kafka_dr.errors import TryAgain
from kafka_dr.json_documents import write_whole
from kafka_dr.rounds.look import LookTools
from kafka_dr.runs.at_rest import WatchResult

GOOD, BY_NAME, WAITS = (f"support.round_looks:{name}" for name in ("good", "by_name", "waits"))


def good(group: str, tools: LookTools) -> WatchResult:
    """Find everything well."""
    return WatchResult(group, "ok", (f"looked at in {tools.run}",), {"process": os.getpid()})


def by_name(group: str, tools: LookTools) -> WatchResult:
    """Do what the name of the group says."""
    if group.startswith("aborts"):
        os.abort()
    if group.startswith("hangs"):
        time.sleep(3600)
    if group.startswith("silent"):
        raise TryAgain("east does not answer")
    if group.startswith("broken"):
        raise ZeroDivisionError("a mistake")
    if group.startswith("writes"):
        path = tools.clients.evidence_root.joinpath("watched", f"{group}.json")
        write_whole(path, b"seen")
        return WatchResult(group, "ok", (path.read_bytes().decode(),))
    if group.startswith("approved"):
        people = tools.clients.approvers(tools.clients.topology.group(group))
        return WatchResult(group, "ok", tuple(f"{each.name} is {each.id}" for each in people))
    if group.startswith("leaves"):
        tools.clients.evidence_root.joinpath("..", "outside").read_bytes()
    return good(group, tools)


def waits(group: str, tools: LookTools) -> WatchResult:
    """Leave a file with the process id, and wait until it is gone."""
    path = tools.clients.evidence_root.joinpath(f"{group}.waits")
    write_whole(path, str(os.getpid()).encode())
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            path.read_bytes()
        except FileNotFoundError:
            return good(group, tools)
        time.sleep(0.05)
    raise TryAgain("the file is still there")
