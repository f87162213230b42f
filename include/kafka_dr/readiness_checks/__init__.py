"""What readiness asks of the clusters themselves: the checks of each verb without its waits, and what no watch asks."""
