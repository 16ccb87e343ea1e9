"""Threads, tasks and devices."""
