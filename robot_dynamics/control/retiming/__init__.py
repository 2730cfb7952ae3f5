"""Time-optimal retiming of joint paths."""
