"""Some seconds of the search in ``test/sweeps/operators.py``."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

pytest.importorskip("mujoco", reason="MuJoCo simulates the robots")
SWEEPS = Path(__file__).parents[1] / "sweeps"


@pytest.mark.parametrize("robot", ["ur5", "platform_2_t"])
def test_random_legal_sequences_are_what_an_operator_would_expect(robot):
    # Hypothesis draws numbers from the modules that are loaded: only a process of its own repeats itself.
    script = (
        f"import operators; kind = operators.machines()[{robot!r}];"
        " [operators.search(kind, 3, 8, number, False) for number in (1, 2)]"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=SWEEPS, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]


@pytest.mark.parametrize(
    "find",
    [
        "LOAD_THAT_DRIVES_A_JOINT",
        "STOP_ON_A_NEW_LINE",
        "STOP_BESIDE_A_CUT_EFFORT",
        "STOP_BESIDE_A_BOUNDED_STEP",
        "STOP_WITH_LITTLE_DAMPING",
        "OTHER_LAW_BESIDE_A_STEP",
        "SPRING_AT_A_SINGULARITY",
        "STOP_WHERE_AXES_ALIGN",
        "SPRINGS_REPLACED_AMONG_RARE_STATES",
        "SOFT_ARM_FALLS_THROUGH_ITS_WRISTS_SINGULARITY",
        "LOAD_THAT_IS_NOT_THERE_IN_MOTION",
        "SMALL_STEPS_IN_A_PROTECTIVE_STOP",
        "PARKED_BESIDE_ITS_STOPS",
        "PUSHED_INTO_AN_END_STOP",
        "DRIVEN_DOWN_BY_ITS_ESTIMATE",
        "FALLS_AFTER_A_RESET",
        "FREED_WHILE_IT_SETTLES",
        "SECOND_STOP_AFTER_A_MOTION",
        "BRAKED_BY_ITSELF",
        "FRICTION_DRIVES_SOFT_SPRINGS",
        "SLOWER_TARGETS_TAKEN_FOR_LATE_ONES",
    ],
)
def test_what_the_search_has_found_is_found_no_more(find):
    script = f"import finds, operators; operators.play(*finds.{find})"
    run = subprocess.run([sys.executable, "-c", script], cwd=SWEEPS, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]


def test_a_joint_that_dry_friction_stops_within_a_cycle_does_not_oscillate():
    """A find of the sweep ``supervision``: a hold at speed tripped the rule at the last joint of an xArm7."""
    script = (
        "import supervision as s; loop, _ = s.legal_motion(s.Arm, 'xarm7', 125.0, 1.2, 20.0, 1);"
        " assert loop.trip is None, loop.line"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=SWEEPS, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]
