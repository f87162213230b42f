"""What brokers say of their own settings. A broker tells that a setting of a plug-in is set, and never to what."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from kafka.protocol.admin import DescribeConfigsRequest

from kafka_dr.clusters.cluster import KafkaCluster
from kafka_dr.clusters.python_requests import ask, error_of
from kafka_dr.clusters.session import ClusterSession

_BROKER = 4  # the protocol's number for a broker among the resources
#: Brokers that are asked at the same time.
_AT_ONCE = 8


class BrokerSettings:
    """Reads settings of brokers, for which the principal needs DESCRIBE_CONFIGS on the cluster.

    :param session: of one principal on one cluster
    """

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    @classmethod
    def of(cls, cluster: KafkaCluster) -> BrokerSettings:
        """Ask a cluster that is already reached."""
        return cls(cluster._session)

    def read(self, brokers: Collection[int], keys: Collection[str]) -> dict[int, dict[str, str | None]]:
        """Return what each broker says of these settings.

        A key that a broker does not know and that is not set there is left out; ``None`` stands for a value that the
        broker keeps back, as it does of every key that is not Kafka's own.

        :raises ClusterError: a broker refused
        """
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            return dict(pool.map(lambda broker: (broker, self._of(broker, keys)), sorted(brokers)))

    def _of(self, broker: int, keys: Collection[str]) -> dict[str, str | None]:
        doing = f"read the settings of broker {broker}"
        request = DescribeConfigsRequest(resources=[(_BROKER, str(broker), sorted(keys))], min_version=1)
        (found,) = ask(self._session, request, doing, broker=broker).results
        if (error := error_of(self._session, found.error_code, found.error_message, doing)) is not None:
            raise error
        return {entry.name: entry.value for entry in found.configs}
