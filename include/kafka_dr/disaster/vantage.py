"""Vantages: HTTP addresses in other networks that answer whether they see a cluster up.

A vantage answers ``{"up": true}`` or ``{"up": false}``. Any other answer says nothing about the cluster.
"""

from __future__ import annotations

import json
from http.client import HTTPException, InvalidURL
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from kafka_dr.disaster.disaster_rule import VANTAGE
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.outcomes import Probe
from kafka_dr.quoting import address as shown
from kafka_dr.quoting import line

_MAX_BYTES = 64 * 1024


def probe_vantage(name: str, address: str, cluster: str, seconds: float) -> Probe:
    """Return what a vantage says about a cluster; ``unknown`` if it gives no usable answer.

    :param name: of the vantage, as the topology declares it
    :param address: see :func:`sees_up`
    """
    try:
        up = sees_up(address, cluster, seconds=seconds)
    except KafkaDrError as error:
        return Probe(f"{VANTAGE} {name}", "unknown", str(error))
    said = f"{name} sees {cluster} {'up' if up else 'down'}"
    return Probe(f"{VANTAGE} {name}", "ok" if up else "failed", said)


def sees_up(address: str, cluster: str, *, seconds: float) -> bool:
    """Ask a vantage whether it sees a cluster up.

    :param address: as the topology declares it; ``{cluster}`` in it is replaced by the cluster's name
    :param seconds: the timeout of connecting, and of each read of the answer
    :raises TryAgain: it does not answer, or its answer is not one of the two that are agreed
    """
    url = address.replace("{cluster}", quote(cluster, safe=""))
    try:
        # The topology allows http and https alone.
        with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=seconds) as answer:  # noqa: S310
            found = json.loads(answer.read(_MAX_BYTES))
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise TryAgain(f"{shown(url)} did not say whether {cluster} is up ({_why(error)})") from error
    up = found.get("up") if isinstance(found, dict) else None
    if not isinstance(up, bool):
        agreed = '{"up": true} or {"up": false}'
        raise TryAgain(f"{shown(url)} did not answer {agreed} about {cluster}: check that vantage")
    return up


def _why(error: Exception) -> str:
    """Return what went wrong; an address that could not be used is in the text of its error, with its query."""
    return "its address cannot be used" if isinstance(error, InvalidURL) else line(error)
