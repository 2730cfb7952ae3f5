"""The whole table of drills, one test for each fault and machine: ``make drill``."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from drilling import drill, faults_for
from scenes import COLUMNS

pytestmark = pytest.mark.ros
CASES = [(column, fault) for column in COLUMNS for fault in faults_for(column, quick=False)]


@pytest.fixture(scope="module")
def scenes():
    """The machine that is drilled, made anew where another one or a broken one comes."""
    present = {}

    def scene(column):
        if column not in present:
            end()
            present[column] = COLUMNS[column](with_wall_clock=True).__enter__()
        return present[column]

    def end():
        for name in list(present):
            present.pop(name).__exit__(None, None, None)

    scene.end = end
    yield scene
    end()


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        pytest.param(column, fault, id=f"{column}-{fault.name}", marks=pytest.mark.xdist_group(column))
        for column, fault in CASES
    ],
)
def test_the_promises_are_kept(column, fault, scenes, record_property):
    scene = scenes(column)
    record_property("machine", column)
    record_property("fault", fault.name)
    try:
        verdict = drill(scene, fault)
    except BaseException:
        scenes.end()
        raise
    for name in ("messages", "effort", "step", "silence", "waited"):
        record_property(name, getattr(verdict, name))
    assert not verdict.broken, f"{fault.text}\n" + "\n".join(verdict.broken[:5])
    assert "Traceback" not in scene.process.output, scene.process.describe()
