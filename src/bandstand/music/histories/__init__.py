"""Listening histories of other services and programs: reading them, and finding their songs."""
