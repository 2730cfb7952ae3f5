"""Parts of the simulator's node: plants, their motion, their states as messages, the loop."""
