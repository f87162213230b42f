"""What each step of a run saw: stored once, sealed, and shown as a page that can still be read a year later."""
