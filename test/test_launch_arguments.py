"""Arguments of the launch files, as far as they need no launch."""

import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.arguments import ARGUMENTS, BOOLEAN, plain, platforms, refuse_near_misses


@pytest.mark.parametrize(
    ("given", "meant"),
    [("robbot", "robot"), ("use_simtime", "use_sim_time"), ("descripton_file", "description_file")],
)
def test_a_misspelt_argument_is_refused_with_the_one_that_may_be_meant(given, meant):
    with pytest.raises(ParameterError, match=f"no argument '{given}': did you mean '{meant}'"):
        refuse_near_misses(["plant", given], list(ARGUMENTS))


def test_arguments_of_an_including_file_pass():
    refuse_near_misses(["plant", "ur_type", "launch_rviz2", "robot_ip"], ["robot", "plant", "namespace"])


def test_arguments_of_other_launch_files_of_this_package_pass():
    refuse_near_misses(["platform", "robot_model"], ["robot", "plant"])


def test_true_is_written_in_both_ways():
    assert ARGUMENTS["rviz"].choices is BOOLEAN and {"True", "true"} <= set(BOOLEAN)
    assert plain("rviz", "True") == plain("rviz", "true") == "true"
    assert plain("robot", "Puma") == "Puma"


def test_platforms_are_machines_only():
    assert "stewart_demo" in platforms() and "stewart_platform" not in platforms()
    for name in platforms():
        assert "ros__parameters" not in resource(f"config/{name}.yaml").read_text(encoding="utf-8")
