"""Which fast tests concern a module: those that would notice a fault in it, the likeliest first."""

from __future__ import annotations

from pathlib import Path

COMPILED = ("test/backend/test_compiled_dynamics.py", "test/backend/test_generate.py")
EMITTED = ("test/codegen", "test/backend/test_emitters.py", "test/backend/test_lanes.py")
ROS = ("test/ros_controller", "test/ros_feedforward", "test/ros_model", "test/ros_simulator", "test/ros_view")

PATHS = (
    "test/control/test_trajectory.py",
    "test/control/test_path_rules.py",
    "test/control/test_spline.py",
    "test/control/test_planning.py",
    "test/control/test_controller.py",
    "test/test_values.py",
)
ARM = (
    "test/control/test_controller.py",
    "test/control/test_actuators.py",
    "test/control/test_feedforward.py",
    "test/control/test_sampling_points.py",
    "test/control/test_impossible_payloads.py",
    "test/control/test_effort_limits.py",
    "test/control/test_model_change.py",
    "test/control/test_friction.py",
    "test/ros_feedforward",
    "test/ros_model",
)

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
    "cli": ("test/model", "test/dynamics", "test/backend", "test/ros_simulator"),
    "cli/machine_source.py": ("test/stewart/test_stewart_generated_c.py",),
    "report/sizing": ("test/stewart/test_stewart_report.py",),
    "cli/stewart/report.py": ("test/stewart/test_stewart_report.py",),
    "cli/stewart": ("test/stewart/test_stewart_new.py",),
    "controllers": ("test/controllers/test_controller_package.py",),
    "codegen": (*EMITTED, "test/backend/test_long_programs.py", *COMPILED),
    "codegen/columns.py": ("test/backend/test_columns.py",),
    "codegen/emit_columns.py": ("test/backend/test_columns.py",),
    "codegen/partition.py": ("test/codegen/test_partition.py", "test/backend/test_long_programs.py"),
    "control": (*CORE, "test/test_parameter_classes.py", "test/test_values.py"),
    "control/state_age.py": ("test/control/test_feedforward.py", "test/ros_feedforward"),
    "control/arm": (*ARM, "test/test_parameter_classes.py", "test/test_values.py"),
    "control/arm/trajectory.py": PATHS,
    "control/arm/path_rules.py": PATHS,
    "control/waypoints.py": PATHS,
    "control/spline.py": PATHS,
    "control/tridiagonal.py": PATHS,
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
    "control/stewart": (
        "test/control/test_stewart_controller.py",
        "test/control/test_stewart_laws.py",
        "test/control/test_stewart_loads.py",
        "test/control/test_stewart_motion_base.py",
        "test/control/test_sound_limits.py",
        "test/control/test_pose_paths.py",
        "test/control/test_phases.py",
        "test/test_parameter_classes.py",
        "test/test_values.py",
    ),
    "identification": ("test/identification",),
    "dynamics": ("test/dynamics", "test/generator", *COMPILED),
    "inputs": ("test/inputs",),
    "model": ("test/model", "test/dynamics"),
    "native": ("test/backend", "test/stewart"),
    "papers": ("test/papers", "test/dynamics", "test/generator", "test/stewart"),
    "report": ("test/ros_demo", "test/stewart"),
    "ros": (*ROS, "test/ros_stewart", "test/launch", "test/ros_docs", "test/ros_demo"),
    "simulation": ("test/simulation", "test/control", "test/ros_simulator"),
    "stewart/interval.py": ("test/control/test_sound_limits.py",),
    "stewart/path_bounds.py": ("test/control/test_sound_limits.py",),
    "stewart/verified_limits.py": ("test/control/test_sound_limits.py",),
    "stewart/native/kinematics.c": (
        "test/control/test_platform_kinematics_within.py",
        "test/control/test_platform_forces_within.py",
        "test/control/test_stewart_core.py",
        "test/stewart/test_stewart_kinematics_and_motion.py",
    ),
    "stewart": ("test/stewart", "test/control/test_stewart_controller.py", "test/control/test_pose_paths.py"),
    "view": ("test/view", "test/ros_view"),
    "extras.py": ("test/test_installation.py", "test/test_command_line.py"),
    "errors.py": ("test/test_public_face.py", "test/model", "test/control"),
    "__init__.py": ("test/test_public_face.py",),
    "parameters.py": ("test/test_parameter_classes.py", "test/ros_simulator/test_node_parameters.py"),
    "interrupts.py": ("test/test_interrupts.py",),
    "resources.py": ("test/model", "test/launch"),
    "spatial.py": ("test/model/test_spatial.py", "test/model", "test/dynamics", "test/stewart"),
}
"""By folder or module of the package; the longest entry that fits counts."""


def tests_for(module: Path) -> tuple[str, ...]:
    """Test files for a module, whose path is relative to the package, each once.

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
