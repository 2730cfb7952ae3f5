"""Recordings of topics in files."""
