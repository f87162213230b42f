"""Two registers in memory and the clients that reach them: for tests of rules that no broker is needed for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kafka_dr.clock import SystemClock
from kafka_dr.errors import TryAgain
from kafka_dr.register import RegisterState
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.executor import Executor
from kafka_dr.runs.silent_clusters import SilentClusters
from support.memory_register import MemoryRegister


class FakeRegisters:
    """The registers of east and west, for the protection group ``orders``.

    :param silent: clusters whose register does not answer
    """

    def __init__(self, **states: RegisterState | None) -> None:
        self.by_cluster = {name: MemoryRegister() for name in ("east", "west")}
        self.silent: set[str] = set()
        #: The clusters whose registers were read, in order.
        self.asked: list[str] = []
        self.set(**states)

    def set(self, **states: RegisterState | None) -> None:
        """Let the register of a cluster hold a record, or none."""
        for cluster, state in states.items():
            self.by_cluster[cluster] = MemoryRegister()
            if state is not None:
                self.by_cluster[cluster].compare_and_set(None, state)

    def register(self, cluster: str) -> Any:
        """Return a cluster's register, as the clients do."""

        def read(group: str) -> RegisterState | None:
            self.asked.append(cluster)
            if cluster in self.silent:
                raise TryAgain(f"{cluster} does not answer")
            return self.by_cluster[cluster].read(group)

        kept = self.by_cluster[cluster]
        return SimpleNamespace(
            read=read,
            facts=kept.facts,
            history=kept.history,
            write_fact=kept.write_fact,
            copy=kept.copy,
            compare_and_set=kept.compare_and_set,
            foreign=kept.foreign,
        )

    def clients(self, **more: Any) -> Clients:
        """Return clients that reach nothing but these registers.

        :param more: what else they reach
        """
        group = SimpleNamespace(
            name="orders",
            clusters=("east", "west"),
            topic_patterns=(),
            renames_copies=False,
            copies_named="",
            flow_group=lambda _: "orders",
            on=lambda _: None,
        )
        reached = {
            "topology": SimpleNamespace(group=lambda _: group),
            "clock": SystemClock(),
            "register": self.register,
            "hurry": lambda *_: None,
            "executor": Executor.here(),
            "silent_clusters": SilentClusters(SystemClock()),
            "ignore_foreign_records": lambda: None,
            "require_declared": lambda _: None,
        }
        return cast("Clients", SimpleNamespace(**{**reached, **more}))
