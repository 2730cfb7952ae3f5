"""Expressions, programs and their simplification: writes straight-line code and knows no robot."""
