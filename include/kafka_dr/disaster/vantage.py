"""Asking somebody elsewhere whether a cluster is up: an HTTP address that answers ``{"up": true}`` or ``false``."""

from __future__ import annotations

import json
from http.client import HTTPException
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from kafka_dr.errors import TryAgain

_LONGEST = 64 * 1024


def sees_up(address: str, cluster: str, *, seconds: float) -> bool:
    """Ask a vantage.

    :param address: as the topology declares it; ``{cluster}`` in it is the cluster's name
    :param seconds: how long connecting, and each part of the answer, may take
    :raises TryAgain: it does not answer, or not with what was agreed
    """
    url = address.replace("{cluster}", quote(cluster, safe=""))
    try:
        # The topology allows http and https alone.
        with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=seconds) as answer:  # noqa: S310
            found = json.loads(answer.read(_LONGEST))
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise TryAgain(f"{url} did not say whether {cluster} is up ({error})") from error
    up = found.get("up") if isinstance(found, dict) else None
    if not isinstance(up, bool):
        raise TryAgain(f'{url} answered something else than {{"up": true}} or {{"up": false}}')
    return up
