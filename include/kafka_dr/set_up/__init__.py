"""The folder that ``init`` writes: two clusters are looked at, and everything that a set-up needs is proposed.

No cluster is changed and no secret is written. What the clusters do not show is a question with what to do.
"""
