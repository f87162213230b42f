"""The DR register: which cluster is active for a group, under which epoch, and who may change that."""

from __future__ import annotations

from kafka_dr.register.kafka_register import KafkaRegister
from kafka_dr.register.port import Register, RegisterConflict
from kafka_dr.register.records import REGISTER_TOPIC
from kafka_dr.register.state import Phase, RegisterState, Verb, arbiter, highest

__all__ = [
    "REGISTER_TOPIC",
    "Register",
    "RegisterConflict",
    "RegisterState",
    "Phase",
    "Verb",
    "KafkaRegister",
    "highest",
    "arbiter",
]
