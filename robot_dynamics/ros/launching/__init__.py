"""What the launch files in ``launch/`` are made of."""
