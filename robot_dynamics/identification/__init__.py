"""Masses, drives and payload of a robot from its recorded motion."""
