"""Exact solution paths by an active set."""
