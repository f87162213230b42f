"""The engine of all verbs: it runs their steps, asks for approvals, switches, rolls back and resumes."""
