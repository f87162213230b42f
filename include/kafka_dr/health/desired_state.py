"""What the register record requires of each register. Pure.

What it requires of each flow: see :mod:`kafka_dr.runs.flows_of_standby`, of each cluster's ACLs:
:mod:`kafka_dr.fencing.required`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role

#: No run moves the group: whatever does not match the record is wrong.
SETTLED = frozenset({Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED})


def stale_registers(state: RegisterState, states: Mapping[str, RegisterState | None]) -> tuple[str, ...]:
    """Return the clusters whose register lacks the newest record and may be given it.

    Only while no run moves the group. A ``diverged`` old cluster is fenced, so its register gets the record, too.
    Which process executes a failback is known to the active cluster's register alone. An empty register of several gets
    a record that more than half hold: others may have written a newer one to it before it lost that.

    :param states: by cluster that answers
    """
    if state.phase not in SETTLED:
        return ()
    # Of a cluster that may take writes nothing is changed before it is fenced.
    told = {name: found for name, found in states.items() if state.roles.of(name) is not Role.UNFENCED}
    clusters, held = len(state.roles.each), sum(found is not None for found in states.values())
    fill = clusters == 2 or 2 * held > clusters
    return tuple(sorted(name for name, found in told.items() if (fill if found is None else _lacks_news(found, state))))


def _lacks_news(found: RegisterState, state: RegisterState) -> bool:
    known, news = (replace(each, revision=0, attempt=0, executor="", attempt_at=None) for each in (found, state))
    return found.order < state.order and known != news
