"""Runs of the whole model against independent programs."""
