"""What feeds a trajectory controller with efforts: plans, goals that are passed on, a stream of efforts."""
