"""Compilation of C sources into fast Python functions, with a private cache."""
