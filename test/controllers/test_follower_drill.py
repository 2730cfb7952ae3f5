"""The follower of the generated controller, in C, from two threads: see drill_follower.c.

Expected efforts: a weight of 10 N m. The fail-safe output takes it away evenly in 1 s, once states have
been missing for 0.1 s.
"""

from pathlib import Path

import pytest
from sanitized import THREADS, output_of

from robot_dynamics.controllers.sources import core_sources


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("follower")
    (folder / "core").mkdir()
    for name, text in core_sources().items():
        (folder / "core" / name).write_text(text, encoding="utf-8")
    program = folder / "drill_follower.c"
    program.write_text(Path(__file__).with_name("drill_follower.c").read_text("utf-8"), encoding="utf-8")
    sources = [program, *sorted((folder / "core").glob("*.c"))]
    return output_of(folder / "drill", sources, sanitizers=THREADS).splitlines()


@pytest.mark.long
def test_the_fail_safe_output_begins_when_states_are_lost_and_fades(printed):
    reports = {}
    for line in printed[:10]:
        cycle, values = line.split(": ")
        age, _, effort, *_ = values.split()
        reports[int(cycle)] = (float(age), float(effort))
    for cycle in range(99, 899, 100):
        assert reports[cycle] == (0.0, pytest.approx(11.0))  # weight and 100/s² of feedback on 0.01 rad
    age, effort = reports[999]
    assert age == pytest.approx(0.099, abs=2e-3)
    assert effort == pytest.approx(10.0 * (1.0 - age), abs=0.7)  # after the stop of the simulated arm


@pytest.mark.long
def test_deactivation_leaves_the_weight_or_the_rest_of_the_fail_safe_output(printed):
    last = printed[9].split()[3]
    assert printed[10] == f"left in the fail-safe output: {last} N m"
    assert printed[11] == "left while it controls: 10.00 20.00 N m"


@pytest.mark.long
def test_the_effort_that_brakes_an_arm_without_states_is_not_left_behind(printed):
    """1 rad/s is taken from 1 kg m² within 10 ms: 100 N m against the weight of 10."""
    assert printed[12] == "braking -90, left behind it 10.00 20.00 N m"


@pytest.mark.long
def test_the_fail_safe_output_has_ended_when_the_effort_is_zero(printed):
    age, _, effort, *_ = printed[13].split()
    assert float(effort) == 0.0
    assert float(age) == pytest.approx(1.02, abs=0.01)  # fade, stop and period of the efforts


@pytest.mark.long
def test_a_clock_that_stands_takes_its_cycles_off_the_next_step(printed):
    """Of the 2 s it stands, one is counted; the step of 2 s that follows is the other one and no loss."""
    assert printed[14] == "1 1 1 1 130 1000 1000"
