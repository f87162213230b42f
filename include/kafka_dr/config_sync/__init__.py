"""The standby is configured to take over: what differs, what that means, and what fixes it."""
