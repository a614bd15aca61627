"""The training loop, its schedule, and sampling."""
