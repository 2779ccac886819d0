"""Backups, exports and checks of a whole store."""
