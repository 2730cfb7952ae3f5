"""What every node shares: parameters, QoS, message conversion, the robot's description, start and stop."""
