"""What a robot's recorded motion tells about its masses, drives and payload."""
