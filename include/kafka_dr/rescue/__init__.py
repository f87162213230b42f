"""Records that the active cluster lacks and another one holds: brought to it, each once.

Stranded records are read from the list that is kept of them, and published again. What another standby of a lost
cluster has copied more is fetched before the target is opened.
"""
