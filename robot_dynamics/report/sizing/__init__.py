"""The sizing report of a Stewart platform: where it reaches, what it can do, and what a motion asks of it."""
