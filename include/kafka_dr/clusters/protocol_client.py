"""kafka-python's admin client, able to send any request of the protocol.

Its public methods cover neither client quotas (KIP-546) nor the unchanged answer with many topics' configurations. They
all send through the connection manager that the class keeps for its mix-ins; the method added in this module does the
same. Only this module uses the manager, and a missing manager is noticed when the client is made, not in an outage.
"""

from __future__ import annotations

import random
from contextlib import suppress
from functools import wraps
from threading import RLock
from typing import Any

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, NodeNotReadyError, UnknownBrokerIdError
from kafka.protocol.schemas import StructField

#: A broker that has not let us log in after so many milliseconds may hang: the next one is connected to, too.
_PATIENCE_MS = 500

_make_decoder = StructField.compiled_decode_from
_one_at_a_time = RLock()


@wraps(_make_decoder)
def _decoder(self: StructField, *args: Any, **options: Any) -> Any:
    """Return the decoder of a kind of response, which the process makes once and keeps.

    If two threads make it at once, kafka-python may keep one that fails (3.0.12): its client then drops every response
    of that kind in silence, and each request waits for its whole deadline, for as long as the process lives.
    """
    with _one_at_a_time:
        return _make_decoder(self, *args, **options)


StructField.compiled_decode_from = _decoder


class ProtocolClient(KafkaAdminClient):  # type: ignore[misc]  # it comes without types
    """An admin client that also sends requests of any kind."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._send_and_wait = self._manager.run, self._manager.send

    def request(self, wanted: Any, broker: int | None = None) -> Any:
        """Send a request, wait for the response and return it; may be called from several threads.

        :param wanted: one of kafka-python's generated request objects; brokers forward requests for the controller
        :param broker: the number of the broker to ask; ``None``: any broker
        """
        run, send = self._send_and_wait
        if broker is None:
            return run(self._send_to_one_that_answers, wanted)
        try:
            return run(send, wanted, broker)
        except UnknownBrokerIdError:
            # The broker joined the cluster after this client had read the metadata.
            run(self._manager.cluster.refresh_metadata)
            return run(send, wanted, broker)

    async def _send_to_one_that_answers(self, wanted: Any) -> Any:
        """Send a request to a broker that has let us log in.

        kafka-python chooses one by chance, waits for the answer until its deadline, and chooses again. The kernel of a
        broker that hangs still takes connections.
        """
        manager = self._manager
        brokers = [broker.node_id for broker in manager.cluster.brokers()]
        random.shuffle(brokers)
        for chosen in dict.fromkeys([manager.least_loaded_node(), *brokers]):
            try:
                await manager.wait_for(manager.get_connection(chosen).init_future, _PATIENCE_MS)
            except KafkaError:
                continue
            return await manager.send(wanted, chosen)
        return await manager.send(wanted)

    def connect_to_brokers(self) -> None:
        """Begin to connect to every broker, in the background, so that leaders can be asked sooner."""
        self._send_and_wait[0](self._begin_to_connect)

    async def _begin_to_connect(self) -> None:
        for broker in self._manager.cluster.brokers():
            # A connection that failed a moment ago is not tried again for a while.
            with suppress(NodeNotReadyError):
                self._manager.get_connection(broker.node_id)
