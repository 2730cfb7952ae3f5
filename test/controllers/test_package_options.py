"""Options of ``generate --ros2-control``: identified parameters, the maintainer, and files for MoveIt."""

import itertools

import numpy as np
import pytest
import yaml

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
FRICTION = {"friction": [5.0, 6.0, 4.0, 1.0, 1, 0.5], "damping": [1e-5] * 6, "rotor_inertia": [0.5] * 6}


def written(path, **parameters):
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}), encoding="utf-8")
    return str(path)


@pytest.mark.long
def test_what_was_identified_is_in_the_package_and_moveit_has_limits_that_efforts_permit(tmp_path):
    folder = tmp_path / "own_arm"
    command = ["generate", str(PUMA), "--ros2-control", "-o", str(folder), "--maintainer", "A & B <a@b.org>"]
    given = written(
        tmp_path / "friction.yaml", **FRICTION, kp=[64.0], mode="feedforward", tested_effort=[9.0]
    )
    assert main([*command, "--parameters", given]) == 0
    own = yaml.safe_load((folder / "config/controllers.yaml").read_text(encoding="utf-8"))
    values = own["computed_torque_controller"]["ros__parameters"]
    assert values == {"mode": "feedforward", "kp": [64.0], "kv": [20.0], **FRICTION}
    assert '<maintainer email="a@b.org">A &amp; B</maintainer>' in (folder / "package.xml").read_text()
    controllers = yaml.safe_load((folder / "config/moveit_controllers.yaml").read_text(encoding="utf-8"))
    names = controllers["moveit_simple_controller_manager"]["joint_trajectory_controller"]["joints"]
    assert names == [f"joint{k}" for k in range(1, 7)]
    # Oracle: Pinocchio's efforts for all joints at their limits, in every combination of directions.
    pin = pytest.importorskip("pinocchio", reason="pinocchio is the oracle")
    limits = yaml.safe_load((folder / "config/joint_limits.yaml").read_text(encoding="utf-8"))["joint_limits"]
    largest = np.array([limits[name]["max_acceleration"] for name in names])
    chain, model = rd.load_urdf(PUMA), pin.buildModelFromUrdf(str(PUMA))
    data, random = model.createData(), np.random.default_rng(3)
    joints = [chain.driving_joint(k).limits for k in range(6)]
    shares = []
    for pose in random.uniform([x.lower for x in joints], [x.upper for x in joints], (40, 6)):
        for signs in itertools.product((-1.0, 1.0), repeat=6):
            acceleration = np.array(signs) * largest
            effort = pin.rnea(model, data, pose, np.zeros(6), acceleration) + 0.5 * acceleration
            friction = np.array(FRICTION["friction"])
            shares.append((np.abs(effort) + friction) / np.array([x.effort for x in joints]))
    assert 0.5 < np.max(shares) < 1.0
    assert all(limits[name]["max_velocity"] == x.velocity for name, x in zip(names, joints, strict=True))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"friction": [1.0, 2.0]}, "parameter 'friction' has 2 values"),
        ({"frictoin": [1.0]}, "the controller has no parameter 'frictoin'"),
        ({"payload_mass": -1.0}, "payload_mass"),
        ({}, "has no parameters of '/\\*\\*' or computed_torque_controller"),
    ],
)
def test_parameters_that_the_controller_would_refuse_are_refused(tmp_path, capsys, parameters, words):
    command = ["generate", str(PUMA), "--ros2-control", "-o", str(tmp_path / "own_arm")]
    assert main([*command, "--parameters", written(tmp_path / "p.yaml", **parameters)]) == 1
    assert words.replace("\\", "") in capsys.readouterr().err
    assert not (tmp_path / "own_arm").exists()


def test_a_maintainer_without_an_address_and_options_without_a_package_are_refused(tmp_path, capsys):
    command = ["generate", str(PUMA), "-o", str(tmp_path / "own_arm")]
    assert main([*command, "--ros2-control", "--maintainer", "nobody"]) == 1
    assert "--maintainer 'nobody' is not 'NAME <ADDRESS>'" in capsys.readouterr().err
    assert main([*command, "--maintainer", "A <a@b.org>"]) == 1
    assert "--maintainer has a meaning only with --ros2-control" in capsys.readouterr().err
