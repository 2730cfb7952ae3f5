"""The dynamics of a serial arm: formulations, generated quantities, compiled functions."""
