"""The event log of each account."""
