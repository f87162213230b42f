"""Whether the standby would throttle the applications more than the active cluster does."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

from kafka_dr import parallel
from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check
from kafka_dr.runs import background
from kafka_dr.runs.run import Run

Limits = Mapping[tuple[QuotaEntity, str], float]

_USER = "User:"
_SHOWN = 3
#: How long a source that may be lost has to answer.
_SOURCE_SECONDS = 3.0
#: A name for every client id, or address, that no limit names; none of Kafka's names is empty or has this one.
_ANY = "\0any"


@dataclass(frozen=True, slots=True, order=True)
class LowerLimit:
    """A limit that a client would meet on the standby, and not before.

    :param who: the client, for people
    :param key: the name of the quota, such as ``producer_byte_rate``
    :param on_source: its limit on the active cluster; infinite if it has none
    :param on_target: its limit on the standby
    """

    who: str
    key: str
    on_source: float
    on_target: float

    def __str__(self) -> str:
        before = "no limit" if math.isinf(self.on_source) else f"{self.on_source:,.0f}"
        return f"{self.limit}, {before} on the active cluster"

    @property
    def limit(self) -> str:
        """The limit on the standby alone, for people."""
        return f"{self.who}: {self.key} {self.on_target:,.0f}"


def lower_limits(principals: Collection[str], on_source: Limits, on_target: Limits) -> tuple[LowerLimit, ...]:
    """Return where the standby limits the applications more, by the order in which a broker looks for a limit.

    Client ids and addresses are known only from the limits that name them; one more represents all others.

    :param principals: of the applications, as ``User:name``
    :param on_source: every limit of the active cluster
    :param on_target: every limit of the standby
    """
    found = [*_of_users(principals, on_source, on_target), *_of_addresses(on_source, on_target)]
    return tuple(sorted(set(found)))


def not_throttled(run: Run) -> Check:
    """Return whether no client quota of the target is lower for the group's applications than on the source.

    How much they write and read is not compared with a limit: that both clusters have the same one is enough.
    """
    on_source, on_target = parallel.at_once(*(partial(_limits, run, cluster) for cluster in (run.source, run.target)))
    return judge_quotas(run.source, run.target, run.group.principals, on_source, on_target)


def not_throttled_if_lost(run: Run) -> Check:
    """Return the same for the loss of the source. It is asked only if the target limits anybody, and may be silent."""
    principals, on_target = run.group.principals, _limits(run, run.target)
    on_source = _limits_if_it_answers(run) if lower_limits(principals, {}, on_target) else None
    return judge_quotas(run.source, run.target, principals, on_source, on_target)


def judge_quotas(
    source: str, target: str, principals: Collection[str], on_source: Limits | None, on_target: Limits
) -> Check:
    """Judge the limits of two clusters.

    :param on_source: every limit of the source; ``None`` if it does not answer
    :param on_target: every limit of the target
    """
    name = "standby_quotas"
    lower = lower_limits(principals, on_source or {}, on_target)
    if not lower and on_source is None:
        return Check(name, "ok", f"no client quota of {target} limits the applications")
    if not lower:
        return Check(name, "ok", f"no client quota of {target} is lower for the applications than on {source}")
    what_to_do = "raise or remove it with kafka-configs.sh, or by the plan of dr_config_sync"
    if on_source is None:
        shown = "; ".join(each.limit for each in lower[:_SHOWN])
        detail = f"{target} limits the applications: {shown}. {source} does not answer, so whether it allows more is "
        return Check(name, "warning", f"{detail}not known. If the applications need more, {what_to_do}")
    detail = f"{target} would throttle the applications: {'; '.join(map(str, lower[:_SHOWN]))}"
    return Check(name, "warning", f"{detail}. Expected no lower limit than now: {what_to_do}")


def _limits(run: Run, cluster: str) -> Limits:
    return run.operator(cluster).quotas.list()


def _limits_if_it_answers(run: Run) -> Limits | None:
    try:
        return background.ask("the client quotas", lambda: _limits(run, run.source), seconds=_SOURCE_SECONDS)
    except KafkaDrError:
        return None


def _of_users(principals: Collection[str], on_source: Limits, on_target: Limits) -> Iterator[LowerLimit]:
    named = {entity.client_id for entity, _ in (*on_source, *on_target)} - {None, ""}
    keys = sorted({key for entity, key in on_target if entity.ip is None})
    for principal, client, key in product(sorted(principals), (_ANY, *sorted(filter(None, named))), keys):
        order = tuple(_for_client(principal.removeprefix(_USER), client))
        before, then = _first(on_source, order, key), _first(on_target, order, key)
        if then < before:
            who = principal if client == _ANY else f"{principal} with client id {client}"
            yield LowerLimit(who, key, before, then)


def _of_addresses(on_source: Limits, on_target: Limits) -> Iterator[LowerLimit]:
    named = {entity.ip for entity, _ in (*on_source, *on_target)} - {None, ""}
    keys = sorted({key for entity, key in on_target if entity.ip is not None})
    for address, key in product((_ANY, *sorted(filter(None, named))), keys):
        order = (QuotaEntity(ip=address), QuotaEntity(ip=""))
        before, then = _first(on_source, order, key), _first(on_target, order, key)
        if then < before:
            yield LowerLimit("any address" if address == _ANY else f"address {address}", key, before, then)


def _for_client(user: str, client: str) -> Iterator[QuotaEntity]:
    """Yield what a broker looks for, the first that has a limit counts (Kafka's documentation, *Quotas*)."""
    for name in (user, ""):
        yield QuotaEntity(user=name, client_id=client)
        yield QuotaEntity(user=name, client_id="")
        yield QuotaEntity(user=name)
    yield QuotaEntity(client_id=client)
    yield QuotaEntity(client_id="")


def _first(limits: Limits, order: Collection[QuotaEntity], key: str) -> float:
    return next((limits[entity, key] for entity in order if (entity, key) in limits), math.inf)
