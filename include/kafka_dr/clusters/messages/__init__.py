"""Messages of the protocol that kafka-python does not bring along, in the words of Kafka's own definitions."""
