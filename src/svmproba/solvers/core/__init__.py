"""Signed rows, their storage, and compilation."""
