"""Errors, rates, costs and calibration of probabilities, and their limits."""
