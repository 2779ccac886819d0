"""Middleware, guards and the context that every request can reach."""
