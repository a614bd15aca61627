"""tabgrad trains a GPT in a browser tab; this package is its engine."""

__version__ = "0.1.0"
