"""The law of a Stewart platform in C, for the core of the folder above; its twin is ``control.stewart``."""
