"""Fixtures of the control tests."""

import pytest
from arms import two_joint_chain

from robot_dynamics.model.chain import KinematicChain


@pytest.fixture(scope="session")
def chain() -> KinematicChain:
    """lift: -1 to 2 rad, 3 rad/s, 40 N·m; turn slides: -0.5 to 0.5 m, 2 m/s, 15 N."""
    return two_joint_chain()
