"""A round: one look of a watch at many groups, by a few child processes at the same time.

A client library that aborts its process takes only the groups of that process with it, and these are looked at once
more. A process looks at all of its groups at the same time, each with a deadline of its own. Groups on other clusters
are in other processes, so a cluster that hangs delays nobody else.
"""
