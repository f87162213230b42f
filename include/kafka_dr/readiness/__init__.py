"""Whether each verb could be used on a group now: judged from stored results alone, so it never waits for a cluster."""
