"""Release a group: what copied it before its adoption copies it again, or this project's flow stays as it is."""

from __future__ import annotations

from kafka_dr.adoption.un_adopt import claim, leave, preflight, question, report

__all__ = ["claim", "leave", "preflight", "question", "report"]
