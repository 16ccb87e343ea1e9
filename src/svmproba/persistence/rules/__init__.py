"""Checks of the attributes of every class in a model file."""
