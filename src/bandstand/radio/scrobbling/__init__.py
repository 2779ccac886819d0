"""Plays on their way to other servers, and from other programs into the log."""
