"""Who is notified when something changes, and by which of Airflow's notifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import Field

from kafka_dr.topology.fields import Name, Section

#: What people are notified of.
Occasion = Literal[
    "approval_waiting",
    "half_moved",
    "readiness_lost",
    "readiness_regained",
    "fence_missing",
    "cluster_back",
    "canary_lost",
    "drill_overdue",
    "check_red",
    "check_good",
    "run_began",
    "point_of_no_return",
    "run_ended",
    "run_refused",
    "rolled_back",
    "moved",
]
#: An occasion that is sent in place of the change of outcome that it explains.
SAYS_MORE: Mapping[Occasion, Occasion] = {
    "half_moved": "check_red",
    "fence_missing": "check_red",
    "canary_lost": "check_red",
    "cluster_back": "check_good",
}


class NotifierSpec(Section):
    """One of Airflow's notifiers, and what it sends."""

    notifier: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")] = Field(
        description="the class of the notifier, such as airflow.providers.smtp.notifications.smtp.SmtpNotifier"
    )
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="its arguments; texts are templates that may use notification.title, .text, .html and more",
    )
    about: tuple[Occasion, ...] = Field(
        default=get_args(Occasion), description="of what it sends a notification; everything if left out"
    )
    groups: tuple[Name, ...] = Field(default=(), description="about which protection groups; all if left out")

    def wants(self, *, group: str, occasion: str) -> bool:
        """Return whether this notifier sends what happened to a protection group.

        One that wants every red check also gets what is sent in place of one.
        """
        asked = {occasion, SAYS_MORE.get(cast("Occasion", occasion))}
        return not asked.isdisjoint(self.about) and (not self.groups or group in self.groups)
