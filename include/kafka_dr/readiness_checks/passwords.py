"""Whether a password of the connections ends soon. No cluster says when one does, so the topology declares it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta

from kafka_dr.outcomes import Check
from kafka_dr.runs.clients import ROLES
from kafka_dr.runs.run import Run
from kafka_dr.topology.cluster import PasswordEnd

#: A password that ends sooner is named: a person needs time to replace it.
_DAYS = 30
_SHOWN = 3


def passwords_last(run: Run) -> Check:
    """Return whether every password that a connection logs in with is valid for a month, as the topology declares."""
    declared = {
        f"{role} on {cluster}": run.clients.topology.cluster(cluster).passwords_end.of(role)
        for cluster in run.group.clusters
        for role in ROLES
        if run.clients.cluster(cluster, role).settings.password
    }
    return judge_passwords(declared, run.clock.now())


def judge_passwords(declared: Mapping[str, PasswordEnd | None], now: datetime) -> Check:
    """Judge passwords by when they end; the first that ends decides.

    :param declared: whose password ends when: the first day on which it does not work, UTC; ``never``; ``None`` if the
        topology does not say so
    :param now: UTC
    """
    name = "passwords_last"
    if not declared:
        return Check(name, "ok", "no connection logs in with a password")
    silent = sorted(who for who, end in declared.items() if end is None)
    ends = sorted((datetime.combine(end, time(), UTC), who) for who, end in declared.items() if isinstance(end, date))
    if ends and ends[0][0] <= now:
        gone = [who for at, who in ends if at <= now]
        detail = f"the password of {_listed(gone)} has ended, as passwords_end says: replace it, and correct the date"
        return Check(name, "failed", detail)
    soon = [f"{who} in {(at - now).days} days" for at, who in ends if at - now < timedelta(days=_DAYS)]
    if soon:
        return Check(name, "warning", f"the password ends of {_listed(soon)}: replace it")
    if silent:
        detail = f"not looked at: the topology does not say when the password of {_listed(silent)} ends"
        return Check(name, "warning", f"{detail}. Set passwords_end of the cluster to a day, or to never")
    first = f"; the first, of {ends[0][1]}, on {ends[0][0]:%Y-%m-%d}" if ends else ""
    return Check(name, "ok", f"none of {len(declared)} passwords ends within {_DAYS} days{first}")


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{', '.join(shown[:_SHOWN])}{more}"
