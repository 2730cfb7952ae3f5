"""The action ``FollowJointTrajectory``: its server, and goals for who follows trajectories itself."""
