"""Control of a Stewart platform: pose trajectories, computed force, safe outputs. No ROS here."""
