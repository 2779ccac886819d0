"""Engines turn a history into a belief; all implement the protocol in engine.py."""
