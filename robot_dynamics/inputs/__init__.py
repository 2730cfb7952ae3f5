"""The gates for what comes from outside: files, YAML, numbers in text, and arrays of numbers."""
