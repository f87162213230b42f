"""Stranded records: read from the list that is kept of them, and published again to the active cluster, each once."""
