"""What the simulator's node is made of: plants, their motion, their states as messages, the loop."""
