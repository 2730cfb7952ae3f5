"""Fast tests that concern a C file: those that would notice a fault in it, the likeliest first.

A Python module has no entry: tests say themselves which of its lines they reach.
"""

from __future__ import annotations

from pathlib import Path

CORE = (
    "test/control/test_phases.py",
    "test/control/test_controller.py",
    "test/control/test_model_change.py",
    "test/control/test_plausibility.py",
    "test/control/test_stewart_controller.py",
    "test/control/test_core.py",
    "test/control/test_effort_steps.py",
    "test/control/test_loop_drill.py",
    "test/control",
)

DRILLS = ("test/control/test_loop_drill.py", "test/control/test_stewart_core.py")
"""Tests that compile sources of the core themselves, so that nobody can count what they reach."""

CONCERNING: dict[str, tuple[str, ...]] = {
    "benchmark": ("test/backend/test_benchmark.py",),
    "control/core": CORE,
    "control/core/follower.c": (
        "test/control/test_follower_within.py",
        "test/controllers/test_follower_drill.py",
        "test/controllers/test_controller_package.py",
    ),
    "control/core/platform": (
        "test/control/test_platform_forces_within.py",
        "test/control/test_platform_law_within.py",
        "test/control/test_platform_descent_within.py",
        "test/control/test_platform_kinematics_within.py",
        "test/control/test_stewart_core.py",
        "test/control/test_stewart_loads.py",
        "test/control/test_stewart_motion_base.py",
        "test/control/test_loop_drill.py",
        "test/control",
    ),
    "control/retiming": CORE,
    "dynamics": ("test/generator", "test/backend/test_compiled_dynamics.py", "test/backend/test_generate.py"),
    "native": ("test/backend", "test/stewart"),
    "ros": ("test/ros_controller", "test/ros_stewart", "test/ros_feedforward"),
    "stewart/native/kinematics.c": (
        "test/control/test_platform_kinematics_within.py",
        "test/control/test_platform_forces_within.py",
        "test/control/test_stewart_core.py",
        "test/stewart/test_stewart_kinematics_and_motion.py",
    ),
}
"""By folder or file of the package; the longest entry that fits counts."""


def tests_for(module: Path) -> tuple[str, ...]:
    """Test files for a C file, whose path is relative to the package, each once.

    pytest leaves out the rest of a folder behind one of its files: folders become their files here.

    Raises:
        LookupError: the table has no entry for it.
    """
    for place in (module, *module.parents):
        if place.as_posix() in CONCERNING:
            entries = map(Path, CONCERNING[place.as_posix()])
            files = [
                file
                for entry in entries
                for file in (sorted(entry.rglob("test_*.py")) if entry.is_dir() else [entry])
            ]
            return tuple(dict.fromkeys(file.as_posix() for file in files))
    raise LookupError(f"test/mutation/concerning.py has no tests for {module}")
