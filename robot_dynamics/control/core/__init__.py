"""The control core in C, and its binding."""
