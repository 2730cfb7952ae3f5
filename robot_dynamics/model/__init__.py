"""From a robot description to a serial chain, its frames and its Denavit-Hartenberg table."""
