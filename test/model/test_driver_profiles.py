"""Driver profiles: every file of the package is valid; faults are refused in one line with the key."""

import pytest
import yaml

from robot_dynamics.errors import ModelError
from robot_dynamics.model.driver_profile import driver_names, load_driver
from robot_dynamics.resources import share_directory

GENERIC = (share_directory() / "config/drivers/generic.yaml").read_text(encoding="utf-8")


def test_profiles_are_found_by_name():
    simulated, robots = (
        {"generic", "mujoco", "gazebo"},
        {"ur", "franka", "lbr_fri", "kuka_sunrise", "kuka_iiqka"},
    )
    assert simulated | robots | {"openarm_mit", "dynamixel", "kinova"} == set(driver_names())


@pytest.mark.parametrize("name", driver_names())
def test_a_profile_states_its_version_and_sources(name):
    profile = load_driver(name)
    assert profile.name == name
    assert profile.command.obeyed == ("effort" in profile.command.interfaces)
    if name != "generic":
        assert profile.version
        assert profile.sources


def test_who_compensates_gravity():
    assert load_driver("generic").command.gravity == "controller"
    assert load_driver("ur").command.gravity == load_driver("franka").command.gravity == "robot"
    assert load_driver("ur").state.quantity == "current"


def test_a_profile_of_ones_own_is_read_from_its_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GENERIC.replace("name: generic", "name: mine").replace("rate: 0.0", "rate: 250"))
    assert (load_driver(path).name, load_driver(path).rate) == ("mine", 250.0)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["command", "torque_rate_limit"], float("nan"), "torque_rate_limit of a EffortCommand is nan"),
        (["command", "speed"], 1, "key 'command.speed' is unknown; it must be one of obeyed"),
        (["command", "viscous_left"], [0.5, 1.5], "viscous_left of a EffortCommand, an entry, is 1.5"),
        (["state"], 3, "state is 3; it must be a mapping"),
        (["rate"], "fast", "rate of a DriverProfile cannot be read as real numbers: 'fast'"),
        (["traps"], "none", "traps of a DriverProfile"),
        (["unverified"], ["command.colour"], "unverified has 'command.colour'; it must be one of"),
    ],
)
def test_faults_are_refused_with_their_key(tmp_path, path, value, reason):
    document = yaml.safe_load(GENERIC)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "faulty.yaml"
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(ModelError) as caught:
        load_driver(file)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
