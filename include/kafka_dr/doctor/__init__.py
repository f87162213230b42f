"""Everything that can be wrong with a set-up, asked at once, each with what corrects it. Changes no cluster."""

from __future__ import annotations

from kafka_dr.doctor.examination import examine
from kafka_dr.doctor.finding import SetUpFinding

__all__ = ["SetUpFinding", "examine"]
