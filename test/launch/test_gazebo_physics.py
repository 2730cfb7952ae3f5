"""Gazebo's physics moves what this package hands over as the exact models say: run by a real server."""

import json
import os
import shutil
import signal
import subprocess
import threading
import uuid
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from patience import PATIENCE

import robot_dynamics as rd
from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.sdf import sdf

STEPS = 5
WORLD = "robot_dynamics"
PUBLISHER = ("gz-sim-joint-state-publisher-system", "gz::sim::systems::JointStatePublisher")
STEP = f"gz service -s /world/{WORLD}/control --reqtype gz.msgs.WorldControl --reptype gz.msgs.Boolean"


def gazebo_is_installed() -> bool:
    if shutil.which("gz") is None:
        return False
    return subprocess.run(["gz", "sim", "--versions"], capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    if not gazebo_is_installed():
        pytest.skip("Gazebo (gz sim) is not installed")
    monkeypatch.setenv("GZ_PARTITION", uuid.uuid4().hex)
    monkeypatch.setenv("GZ_IP", "127.0.0.1")


def stop(process):
    """The command ``gz`` starts the server as a child: the whole group ends."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def in_world(model: ElementTree.Element) -> str:
    """This package's world with a model in it that publishes the states of its joints."""
    ElementTree.SubElement(model, "plugin", filename=PUBLISHER[0], name=PUBLISHER[1])
    world = ElementTree.parse(resource("urdf/world.sdf")).getroot()
    world.find("world").append(model)
    return ElementTree.tostring(world, encoding="unicode")


def accelerations(model: ElementTree.Element, folder, joints) -> np.ndarray:
    """Mean accelerations of joints in the first few steps, from rest and without commands."""
    file = folder / "world.sdf"
    file.write_text(in_world(model), encoding="utf-8")
    topic = f"/world/{WORLD}/model/{model.get('name')}/joint_state"
    with (folder / "log").open("w") as log:
        common = {"stderr": log, "start_new_session": True, "text": True}
        server = subprocess.Popen(["gz", "sim", "-s", str(file)], stdout=log, **common)
        listener = subprocess.Popen(
            ["gz", "topic", "-e", "-t", topic, "--json-output"], stdout=subprocess.PIPE, **common
        )
        patience = threading.Timer(PATIENCE, lambda: stop(listener))
        patience.start()
        try:
            # It stands still, and publishes that, until it is told to step.
            assert listener.stdout.readline(), (folder / "log").read_text()
            request = f"multi_step: {STEPS}, pause: true"
            subprocess.run(
                [*STEP.split(), "--timeout", f"{PATIENCE * 1e3:.0f}", "--req", request],
                capture_output=True,
                check=True,
            )
            for line in listener.stdout:
                state = json.loads(line)
                elapsed = 1e-9 * float(state["header"]["stamp"].get("nsec", 0))
                if elapsed > 0.0:
                    return velocities(state, joints) / elapsed
        finally:
            patience.cancel()
            for process in (listener, server):
                stop(process)
    raise AssertionError((folder / "log").read_text())


def velocities(state, joints) -> np.ndarray:
    axes = {joint["name"]: joint.get("axis1", {}) for joint in state["joint"]}
    return np.array([float(axes[name].get("velocity", 0.0)) for name in joints])


def test_a_falling_arm_accelerates_as_its_model(tmp_path):
    file = resource("urdf/puma560.urdf")
    chain = rd.load_urdf(file)
    text = subprocess.run(["gz", "sdf", "-p", str(file)], capture_output=True, text=True, check=True).stdout
    rest = np.zeros(chain.dof)
    expected = rd.compile_dynamics(chain).forward_dynamics(rest, rest, rest)
    measured = accelerations(ElementTree.fromstring(text).find("model"), tmp_path, chain.joint_names)
    np.testing.assert_allclose(measured, expected, atol=2e-3 * np.abs(expected).max())


def test_a_falling_platform_accelerates_as_its_machine(tmp_path):
    """Its six loops are closed: legs that hang alone would fall quite differently."""
    document = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))
    document["leg_defaults"]["friction"] = dict.fromkeys(("universal", "prismatic", "spherical"), 0.0)
    machine = load_machine(document)
    platform, zero, level = stewart.StewartPlatform(machine), np.zeros(3), [0.0, 0.0, 0.0, 1.0]
    linear, angular = platform.forward_dynamics(machine.home_position, level, zero, zero, np.zeros(6))
    jacobian = platform.legs(machine.home_position, level).jacobian
    expected = jacobian @ np.concatenate([linear, angular])
    measured = accelerations(ElementTree.fromstring(sdf(machine)).find("model"), tmp_path, machine.leg_names)
    np.testing.assert_allclose(measured, expected, atol=2e-3 * np.abs(expected).max())
