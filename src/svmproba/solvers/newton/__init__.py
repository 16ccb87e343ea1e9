"""Semismooth Newton paths: tables of moderate width."""
