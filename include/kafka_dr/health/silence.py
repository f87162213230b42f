"""What a health check says of clusters that did not answer: they are silent, or this worker could not ask."""

from __future__ import annotations

from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.health.hung_brokers import blame
from kafka_dr.health.kept_facts import heard_from
from kafka_dr.health.registers import RegisterAnswers
from kafka_dr.outcomes import Check
from kafka_dr.register import RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.runs.at_rest import WatchResult


def silent(state: RegisterState, cluster: str, error: KafkaDrError, *, too_slow: str) -> Check:
    """Name a cluster that did not answer, while another one did.

    :param too_slow: why this worker could not ask; empty if it could
    """
    role = word_of(state, cluster)
    if isinstance(error, ConnectionMistake):
        return Check("silent", "unknown", f"{cluster}, which is {role}, cannot be asked: {error}")
    if too_slow:
        said = f"{cluster}, which is {role}, does not answer in time ({error}), and another cluster does"
        return Check("silent", "unknown", f"{said}: check the cluster. It may be this worker, too: {too_slow}")
    return Check("silent", "unknown", f"{cluster}, which is {role}, does not answer ({error}): check the cluster")


def word_of(state: RegisterState, cluster: str) -> str:
    """Return what a cluster is, as it continues "which is …"."""
    return "active" if state.roles.of(cluster) is Role.ACTIVE else "not active"


def without_record(group: str, registers: RegisterAnswers, *, too_slow: str) -> WatchResult:
    """Say what is known of a group if no register that answers has a record of it.

    :param too_slow: why this worker could not ask; empty if it could
    """
    if not registers.unread:
        return WatchResult(
            group, "left_alone", ("no register has a record of it: it is not adopted, nothing is touched",)
        )
    names, some_answer = " and ".join(sorted(registers.unread)), bool(registers.answering or registers.wrong_ids)
    if too_slow and some_answer:
        first = blame(too_slow, sorted(registers.unread))
    elif too_slow:
        first = f"whether {names} answer is unknown: {too_slow}"
    elif some_answer:
        first = "no register that answers has a record of it"
    else:
        first = (
            f"no cluster of it answers this worker, which asked {names}: they may all be down, or this worker reaches "
            "nothing. Check the network of this worker, and ask from another machine before you call a cluster down"
        )
    said = "gave no answer" if too_slow else "does not answer"
    each = (
        *map(str, registers.unusable.values()),
        *(
            str(error) if isinstance(error, ConnectionMistake) else f"{name} {said}: {error}"
            for name, error in registers.silent.items()
        ),
    )
    check = "silent" if some_answer else "own_speed" if too_slow else "no_cluster"
    facts = {"open_checks": {check: "unknown"}, **heard_from(registers, too_slow=too_slow)}
    return WatchResult(group, "unknown", (first, *each), facts)
