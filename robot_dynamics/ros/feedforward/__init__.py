"""Parts of the feedforward node: plans, goals that are passed on, a stream of efforts."""
