"""The way home: the side that was left becomes a copy again, without anything being lost that it alone holds.

``source`` of such a run is the active cluster, ``target`` the one that was left: replication runs from the one to the
other when the run is through. The active cluster's register decides throughout.
"""

from __future__ import annotations
