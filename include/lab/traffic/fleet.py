"""Which applications there are: one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lab.rights import BILLING_APP, ORDERS_APP
from lab.traffic import billing, payments
from lab.traffic.application import Application
from lab.traffic.billing import Billing
from lab.traffic.payments import Payments
from lab.traffic.rates import Rates
from lab.traffic.readers import Commits, Habit, ReadingApp

PAYMENTS, BILLING = "payments", "billing"


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


def habits(rates: Rates) -> tuple[Habit, ...]:
    """The groups that only read."""
    both = (payments.TOPIC, billing.TOPIC)
    return (
        Habit("orders-head", both, Commits.ALL),
        Habit("orders-slow", (payments.TOPIC,), Commits.ALL, per_second=rates.slow_per_second),
        Habit("orders-gaps", both, Commits.GAPS),
        Habit("orders-reader", (billing.TOPIC,), Commits.NEVER, per_second=rates.again_per_second),
    )


def fleet(rates: Rates) -> Mapping[str, AppSpec]:
    """Every application by name."""

    def pay(application: Application) -> None:
        Payments(application, per_second=rates.payments_per_second).run()

    def bill(application: Application) -> None:
        Billing(application).run()

    def reading(habit: Habit) -> Callable[[Application], None]:
        return lambda application: ReadingApp(application, habit).run()

    jobs = [
        AppSpec(PAYMENTS, ORDERS_APP, pay, writes=payments.TOPIC),
        AppSpec(BILLING, BILLING_APP, bill, writes=billing.TOPIC, group=billing.GROUP),
        *(AppSpec(habit.group, ORDERS_APP, reading(habit), group=habit.group) for habit in habits(rates)),
    ]
    return {job.name: job for job in jobs}


def groups() -> tuple[str, ...]:
    """Every consumer group of the fleet."""
    return tuple(job.group for job in fleet(Rates()).values() if job.group is not None)
