"""Figures, tables and plots of recorded runs."""
