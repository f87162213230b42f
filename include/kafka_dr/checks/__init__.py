"""Named questions about clusters that several verbs and the watches ask."""
