"""Timings of the generated models beside other libraries, in one process."""
