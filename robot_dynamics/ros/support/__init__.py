"""Parts that every node shares: parameters, QoS, message conversion, diagnostics, faults, start and stop."""
