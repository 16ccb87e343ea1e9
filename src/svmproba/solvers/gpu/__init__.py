"""Batched engines on torch."""
