"""A control law in Python in a node: the Python host runs it, and the real-time thread refuses it by name."""

import numpy as np
import pytest
from ros_harness import peer_with
from two_links import Robot, controller, gravity_load

LAW = """
import robot_dynamics as rd

@rd.arm_law("spring")
def spring(model, given):
    rest = 0.0 * given.position
    return model.inverse_dynamics(given.position, rest, rest) - given.kv * given.velocity

@rd.arm_law("faulty")
def faulty(model, given):
    return given.missing
"""


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "my_laws.py").write_text(LAW)
    return {"PYTHONPATH": str(tmp_path)}


def test_a_law_in_python_runs_in_the_python_host(environment):
    given = {"law_modules": ["my_laws"], "native_loop": "off", "mode": "spring", "kv": [2.0]}
    with controller(environment=environment, **given) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.3, -0.4])
        effort = robot.answer(robot.state([0.3, -0.4], [0.1, -0.2]))
        np.testing.assert_allclose(effort, gravity_load([0.3, -0.4]) - 2.0 * np.array([0.1, -0.2]), rtol=1e-9)


def test_a_faulty_law_ends_in_the_safe_output_and_is_named(environment):
    given = {"law_modules": ["my_laws"], "native_loop": "off", "mode": "faulty"}
    with controller(environment=environment, **given) as node, peer_with(node) as peer:
        np.testing.assert_allclose(Robot(peer).hold_at([0.3, -0.4]), gravity_load([0.3, -0.4]), rtol=1e-9)
        node.wait_for_output("AttributeError")


def test_the_real_time_thread_refuses_it_by_name(environment):
    given = {"law_modules": ["my_laws"], "native_loop": "on", "mode": "spring"}
    with controller(environment=environment, **given) as node:
        node.wait_for_output("the law 'spring'")


def test_a_module_that_is_not_there_is_one_line():
    with controller(law_modules=["no_such_laws"]) as node:
        node.wait_for_output("parameter 'law_modules' names 'no_such_laws', which cannot be imported")
