"""Plants: arms and Stewart platforms on MuJoCo."""
