"""A cluster spread over several sites: what is wrong with its placement, and what the loss of a site would do."""

from __future__ import annotations

from kafka_dr.stretch.look import look_at_stretch
from kafka_dr.stretch.result import StretchLook

__all__ = ["StretchLook", "look_at_stretch"]
