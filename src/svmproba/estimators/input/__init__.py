"""Checks of parameters and samples, and what a fit starts from."""
