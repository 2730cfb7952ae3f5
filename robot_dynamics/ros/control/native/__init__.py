"""The control loop in a thread that knows nothing of Python: message bytes in, message bytes out."""
