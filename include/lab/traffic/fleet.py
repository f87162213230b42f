"""Which applications there are: one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lab.layout import Role
from lab.rights import BILLING_APP, ORDERS_APP
from lab.traffic import billing, payments
from lab.traffic.application import Application
from lab.traffic.billing import Billing
from lab.traffic.payments import Payments
from lab.traffic.rates import Rates
from lab.traffic.readers import Commits, Habit, ReadingApp
from lab.traffic.records import under_any_name

PAYMENTS, BILLING = "payments", "billing"
#: The groups that run on each of several clusters that are used together, and read everything there.
UNION = ("orders-head", "orders-slow")
#: How the group is called, before the name of the cluster with whose clients it moves.
MOVES = "orders-moves"


@dataclass(frozen=True, slots=True)
class AppSpec:
    """An application of the fleet.

    :param name: its name, and the name of its log
    :param writes: the topic that it writes, if any
    :param group: the group that it reads with, if any
    """

    name: str
    principal: str
    run: Callable[[Application], None]
    writes: str | None = None
    group: str | None = None


def habits(rates: Rates, called: Callable[[str], str] = str) -> tuple[Habit, ...]:
    """The groups that only read.

    :param called: what a group subscribes to for a topic
    """
    both = paid, billed = called(payments.TOPIC), called(billing.TOPIC)
    return (
        Habit("orders-head", both, Commits.ALL),
        Habit("orders-slow", (paid,), Commits.ALL, per_second=rates.slow_per_second),
        Habit("orders-gaps", both, Commits.GAPS),
        Habit("orders-reader", (billed,), Commits.NEVER, per_second=rates.again_per_second),
    )


def fleet(rates: Rates, *, copies: bool = False, role: Role | None = None, suffix: str = "") -> Mapping[str, AppSpec]:
    """Every application by name.

    :param copies: whether they read the copies of topics, too, which have other names
    :param role: what the cluster is whose clients they are, if several are used together: billing settles what is
        written where it runs, the groups of :data:`UNION` read, and one that moves with these clients; those of a spoke
        only write, those of a hub only read
    :param suffix: what their names end with, where there is another fleet
    """
    called = under_any_name if copies else str

    def pay(application: Application) -> None:
        Payments(application, per_second=rates.payments_per_second).run()

    def bill(application: Application) -> None:
        Billing(application, payments.TOPIC if role else called(payments.TOPIC)).run()

    def reading(habit: Habit) -> Callable[[Application], None]:
        return lambda application: ReadingApp(application, habit).run()

    moving = Habit(f"{MOVES}{suffix}", (called(payments.TOPIC), called(billing.TOPIC)), Commits.ALL)
    usual = habits(rates, called)
    read_here = [*(each for each in usual if each.group in UNION), moving] if role else usual
    reads = () if role == "spoke" else read_here
    writers = (
        AppSpec(PAYMENTS, ORDERS_APP, pay, writes=payments.TOPIC),
        AppSpec(BILLING, BILLING_APP, bill, writes=billing.TOPIC, group=billing.GROUP),
    )
    jobs = [
        *(() if role == "hub" else writers),
        *(AppSpec(habit.group.removesuffix(suffix), ORDERS_APP, reading(habit), group=habit.group) for habit in reads),
    ]
    return {job.name: job for job in (replace(each, name=each.name + suffix) for each in jobs)}


def groups() -> tuple[str, ...]:
    """Every consumer group of the fleet."""
    return tuple(job.group for job in fleet(Rates()).values() if job.group is not None)
