"""Bags, and the members that are fitted on them."""
