"""Figures of the paper and of the demonstration."""
