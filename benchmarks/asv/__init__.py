"""Speed of two commits, or of all: ``make speed`` runs this suite by asv (airspeed velocity).

It uses public names alone, so that it runs on old commits. Times are CPU seconds of one thread,
which other work on the machine changes less than seconds on the clock.
"""
