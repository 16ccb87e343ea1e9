"""Signed rows, compilation, workspaces."""
