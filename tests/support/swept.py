"""What groups of tests leave in the lab that they share, which every look at its clusters would read from then on."""

from __future__ import annotations

import re

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings, KafkaCluster
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.parallel import ask_all
from kafka_dr.register.digests import DIGESTS_TOPIC
from kafka_dr.register.records import REGISTER_TOPIC
from kafka_dr.replication.connect import ConnectClient
from lab.api import Lab
from lab.clusters import Cluster

#: How names begin that a test has made for its own group, and those of copies of its topics.
_OF_A_TEST = re.compile(r"(\w+\W)?t[0-9a-f]{8}\b")


def sweep(lab: Lab) -> None:
    """Delete flows, topics and rights of groups of tests, and the registers. None of these groups may be needed."""
    ask_all(lambda cluster: _sweep(lab, cluster), lab.clusters)


def _sweep(lab: Lab, cluster: Cluster) -> None:
    with ConnectClient(HttpEndpoint(cluster.connect_url(lab.settings)), clock=SystemClock()) as connect:
        for name in connect.connectors():
            if _OF_A_TEST.match(name):
                connect.delete(name)
    settings = ClientSettings.from_librdkafka(lab.client_settings(cluster.name, "admin"))
    with KafkaCluster(cluster.name, settings) as admin:
        admin.acls.remove(acl for acl in admin.acls.list() if _OF_A_TEST.match(acl.name))
        registers = {REGISTER_TOPIC, DIGESTS_TOPIC}
        admin.topics.delete(name for name in admin.topics.names() if name in registers or _OF_A_TEST.match(name))
