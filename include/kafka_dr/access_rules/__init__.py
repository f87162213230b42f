"""Where the access rules of a cluster are kept, and how DENYs get there: on the brokers, or where their owners say."""

from __future__ import annotations

from kafka_dr.access_rules.broker import BrokerRules
from kafka_dr.access_rules.chosen import access_rules_of
from kafka_dr.access_rules.port import AccessRules

__all__ = ["AccessRules", "BrokerRules", "access_rules_of"]
