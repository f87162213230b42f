"""kafka-python's admin client, able to send any request of the protocol.

Its public methods cover neither client quotas (KIP-546) nor many topics' configurations in one answer as it came. They
all send by the connection manager that the class keeps for its mix-ins; this one more method does the same. It is the
only place that knows of the manager, and it is checked when the client is made, not in the middle of an outage.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kafka.admin import KafkaAdminClient
from kafka.errors import NodeNotReadyError, UnknownBrokerIdError


class RequestingAdminClient(KafkaAdminClient):  # type: ignore[misc]  # it comes without types
    """An admin client with one more method."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._send_and_wait = self._manager.run, self._manager.send

    def request(self, wanted: Any, broker: int | None = None) -> Any:
        """Send a request, wait for the response and return it; may be called from several threads.

        :param wanted: one of kafka-python's generated request objects; brokers forward what is the controller's
        :param broker: the number of the broker to ask; any where ``None``
        """
        run, send = self._send_and_wait
        try:
            return run(send, wanted, broker)
        except UnknownBrokerIdError:
            # It joined the cluster after this client had looked.
            run(self._manager.cluster.refresh_metadata)
            return run(send, wanted, broker)

    def connect_to_brokers(self) -> None:
        """Begin to connect to every broker, for somebody who is going to ask leaders; none is waited for."""
        self._send_and_wait[0](self._begin_to_connect)

    async def _begin_to_connect(self) -> None:
        for broker in self._manager.cluster.brokers():
            # One that failed a moment ago is left alone for a while.
            with suppress(NodeNotReadyError):
                self._manager.get_connection(broker.node_id)
