"""An arm under computed-torque control: its description, a plant, the controller, and rviz if wanted."""

from launch import Action, LaunchDescription

from robot_dynamics.ros import launch_support as support


def generate_launch_description() -> LaunchDescription:
    """See ``ros2 launch robot_dynamics computed_torque.launch.py -s``."""
    return support.describe(
        actions,
        "robot",
        "plant",
        "rviz",
        "description_file",
        "description",
        "controller_parameters",
        "simulator_parameters",
        "namespace",
        "frame_prefix",
        "use_sim_time",
        "on_exit",
        use_sim_time=support.equals("plant", "gazebo"),
    )


def actions(given: support.Given) -> list[Action]:
    """The parts that the arguments ask for."""
    started: list[Action] = []
    model = []
    if given["description"] == "parameter":
        model = [support.description_parameter(support.description_text(given))]
    elif given["description"] == "robot_state_publisher":
        names = ("robot", "description_file", "namespace", "frame_prefix", "use_sim_time", "on_exit")
        started.append(support.include("description", given, *names))
    if given["plant"] == "simulator":
        started.append(simulator(given, model))
    parameters = [*support.parameter_files(given["controller_parameters"]), *model]
    started.append(support.node("computed_torque_controller", given, parameters))
    return started


def simulator(given: support.Given, model: list[dict]) -> Action:
    """The simulated arm; with ``use_sim_time`` it is the one that publishes the time."""
    initial = {} if given["description_file"] else support.initial_positions(given["robot"])
    settings = {"publish_clock": given["use_sim_time"] == "true"}
    if initial:
        settings |= {"initial_joints": list(initial), "initial_positions": list(initial.values())}
    if given["description"] == "parameter":
        settings["publish_description"] = True
    parameters = [settings, *support.parameter_files(given["simulator_parameters"]), *model]
    return support.node("simulator", {**given, "use_sim_time": "false"}, parameters)
