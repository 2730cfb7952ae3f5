"""Validation of inputs: files, YAML, numbers in text, and arrays of numbers."""
