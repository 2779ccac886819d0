"""Middleware, the guards of routes, and the context that every request can reach."""
