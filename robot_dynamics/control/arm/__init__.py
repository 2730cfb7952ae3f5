"""Control of a serial arm: joint trajectories, control laws, drives, payload and gravity. No ROS here."""
