"""Release a group: what copied it before its adoption copies it again, or this project's flow stays as it is."""

from __future__ import annotations

from kafka_dr.adoption.un_adopt import claim, hand_back, preflight, question, report, settle, stop_flow

__all__ = ["claim", "hand_back", "preflight", "question", "report", "settle", "stop_flow"]
