"""An arm's page in a headless Chromium: simulator, controller and web view are processes of their own."""

from __future__ import annotations

import itertools
import socket

import numpy as np
import pytest
from chromium import chromium, pixels
from live_page import Page, newest, web_view
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from ros_harness import UNSUPERVISED, NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.resources import resource
from robot_dynamics.ros.running import pacemaker
from robot_dynamics.ros.support import qos

pytest.importorskip("viser", reason="viser is not installed")
pytestmark = pytest.mark.ros

PUMA = resource("urdf/puma560.urdf").read_text()
HOLD = "//button[starts-with(normalize-space(), 'hold')]"
CONTROLLER = "computed_torque_controller"
NAMES = [f"joint{i}" for i in range(1, 7)]
SPRINGS = "stiffness of the joints"
START = np.array([0.2, -0.8, 0.6, 0.0, 0.5, 0.0])


@pytest.fixture(scope="module")
def live(browser):
    # Chromium draws without a graphics card here and takes both cores: in lockstep the arm waits for its
    # controller, and gets where it shall however late that answers. It moves no faster than a user can look.
    common = {"robot_description": PUMA, "rate": 100.0, "lockstep": True}
    start = {"initial_joints": NAMES, "initial_positions": START.tolist()}
    view, address = web_view(robot_description=PUMA, update_rate=10.0)
    control = {**common, **UNSUPERVISED}
    nodes = (
        NodeProcess("simulator", {**common, **start}),
        NodeProcess(CONTROLLER, control, pacemaker.ARGUMENTS),
        NodeProcess("running.pacemaker"),
    )
    with peer_with(*nodes, view) as peer:
        states, references = [], []
        peer.node.create_subscription(JointState, "joint_states", states.append, qos.STATE_SUBSCRIPTION)
        peer.node.create_subscription(
            JointState, f"{CONTROLLER}/reference", references.append, qos.STATE_SUBSCRIPTION
        )
        peer.wait_until(lambda: states and references, "simulator and controller do not talk")
        page = Page(peer, browser, address)
        page.wait_for_slider("joint1")
        page.wait_for_plots(2)
        page.position = lambda: np.array(newest(peer, states).position)
        page.reference = lambda: np.array(newest(peer, references).position)
        yield page


def test_the_page_shows_the_robot_and_loads_nothing_from_elsewhere(live):
    live.peer.wait_until(lambda: not live.texts(), "the page complains")
    names = live.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(name.startswith(("http://127.0.0.1:", "data:", "blob:")) for name in names)

    def sliders():
        return [live.slider_value(name) for name in NAMES]

    live.peer.wait_until(
        lambda: np.abs(sliders() - live.position()).max() < 0.005, "the sliders are not where the arm is"
    )
    seen = pixels(live.driver)
    colors = len(np.unique(seen.reshape(-1, 3), axis=0))
    assert colors > 500


def test_pictures_are_coarse_where_the_processor_draws(live):
    """The tests' browser has no graphics card."""
    smooth = live.driver.execute_script(
        "return document.querySelector('canvas[data-engine]').getContext('webgl2')"
        ".getContextAttributes().antialias"
    )
    assert smooth is False
    dots = live.driver.execute_script("return devicePixelRatio")
    assert f"fixedDpr={0.75 * dots:g}" in live.driver.current_url


# Right edge, upper and lower edge of the panels with the plots, by their titles and the bars about them.
BOXES = """
return [...document.querySelectorAll('div, span, p')].filter(
  e => !e.children.length && ['error', 'effort'].includes(e.textContent.trim())).map(e => {
    const box = e.parentElement.parentElement.getBoundingClientRect();
    return [box.right, box.top, box.bottom];
  })
"""
SIZES = ((1280, 800), (1024, 600), (640, 480), (390, 844))


def test_pages_of_four_sizes_show_robot_and_hold(live, tmp_path):
    """Screenshots stay in the test's folder. Plots are folded where they would cover the robot."""

    def charts():
        return narrow.execute_script(
            "return [...document.querySelectorAll('.uplot')].filter(e => e.offsetHeight > 0).length"
        )

    def placed(page, width, height):
        """True if both plots are at the foot of the page, folded or not, and beside the controls."""
        boxes = page.execute_script(BOXES)
        (hold,) = page.find_elements("xpath", HOLD)
        room = width if width < 500 else hold.rect["x"]
        return len(boxes) == 2 and all(
            right <= room and 0.5 * height <= top and bottom <= height for right, top, bottom in boxes
        )

    for width, height in SIZES:
        with chromium(width, height) as narrow:
            narrow.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 0.5, "mobile": width < 500},
            )
            narrow.get(live.driver.current_url)
            find = narrow.find_elements
            live.peer.wait_until(lambda find=find: find("css selector", "canvas"), "no picture")
            live.peer.wait_until(lambda find=find: find("xpath", HOLD), "no hold")
            wanted = 2 if width > 1200 else 0
            live.peer.wait_until(lambda wanted=wanted: charts() == wanted, f"not {wanted} charts at {width}")
            live.peer.wait_until(
                lambda page=narrow, size=(width, height): placed(page, *size),
                f"plots are not placed at {width}",
            )
            (hold,) = find("xpath", HOLD)
            box = hold.rect
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
            assert box["y"] >= 0 and box["y"] + box["height"] <= height
            seen = pixels(narrow)
            assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 100
            narrow.save_screenshot(str(tmp_path / f"{width}x{height}.png"))


def test_sliders_and_send_move_the_arm(live):
    before = pixels(live.driver)
    live.type("joint1", 0.9)
    live.type("joint3", 1.0)
    live.type("duration", 1.0)
    live.press("send")
    live.wait_for_notice("sent: 1.0 s")
    goal = START.copy()
    goal[[0, 2]] = 0.9, 1.0
    live.peer.wait_until(lambda: np.abs(live.position() - goal).max() < 1e-3, "the arm does not get there")
    live.press("current pose")
    live.peer.wait_until(
        lambda: (np.abs(pixels(live.driver) - before).max(axis=2) > 40).mean() > 0.01,
        "the picture does not change",
    )


def test_mode_gains_and_payload_are_applied_and_refused_ones_go_back(live):
    def values(*names):
        request = GetParameters.Request(names=names)
        answer = live.peer.call(GetParameters, f"{CONTROLLER}/get_parameters", request)
        return [parameter_value_to_python(value) for value in answer.values]

    mode, (gain, *_), load = before = values("mode", "kp", "payload_mass")
    live.open("Controller")
    assert live.field("mode").get_attribute("value") == mode
    live.write("kp", f"{gain + 10.0:g}")
    live.write("payload_mass", "0.1")
    live.press("apply")
    live.wait_for_notice(f"set: kp {gain + 10.0:g}, payload_mass 0.1")
    assert values("kp", "payload_mass") == [[gain + 10.0], 0.1]
    live.write("payload_mass", "-1")
    live.press("apply")
    live.wait_for_notice("not set: ")
    live.wait_for_field("payload_mass", "0.1")
    live.press("dismiss")
    for name, value in zip(("mode", "kp", "payload_mass"), before, strict=True):
        assert live.peer.set_parameter(CONTROLLER, name, value).successful
    live.wait_for_field("payload_mass", f"{load:g}")  # set elsewhere, it follows
    live.choose("mode", "feedforward")  # at rest, with the model that the arm has, it stays there
    live.press("apply")
    live.wait_for_notice("set: mode feedforward")
    assert values("mode") == ["feedforward"]
    assert live.peer.set_parameter(CONTROLLER, "mode", mode).successful
    live.wait_for_field("mode", mode)
    live.open("Move")


def test_a_protective_stop_is_said_and_reset_on_the_page(live):
    """A following error that no motion keeps stops the arm."""
    for name, value in (("max_following_error", [1e-7] * 6), ("supervision", "enforce")):
        assert live.peer.set_parameter(CONTROLLER, name, value).successful
    live.open("Move")
    live.type("joint1", 0.3)
    live.press("send")
    live.wait_for_notice("protective stop")
    live.press("send")
    live.wait_for_notice("a protective stop is in force")
    for name, value in (("max_following_error", [0.0]), *UNSUPERVISED.items()):
        assert live.peer.set_parameter(CONTROLLER, name, value).successful
    live.open("Controller")
    live.press("reset fault")
    live.wait_for_notice("reset_fault: ")
    live.open("Move")
    live.type("joint1", 0.6)
    live.press("send")
    live.peer.wait_until(lambda: live.position()[0] > 0.5, "the arm does not move")
    live.press("current pose")


def test_hold_stops_a_move(live):
    began = live.position()[0]
    goal = -1.5 if began > 0.0 else 1.5
    live.type("joint1", goal)
    live.type("duration", 20.0)
    live.press("send")
    live.peer.wait_until(lambda: abs(live.position()[0] - began) > 0.05, "the arm does not move")
    live.press("hold")
    live.wait_for_notice("hold: ")
    held = live.reference()[0]
    assert abs(held - goal) > 0.1
    live.peer.wait_until(lambda: abs(live.position()[0] - held) < 1e-3, "the arm does not hold")
    assert abs(live.reference()[0] - held) < 1e-3


def test_too_fast_a_move_is_refused_until_the_refusal_is_dismissed(live):
    live.type("joint1", 2.5)
    live.type("duration", 0.5)
    live.press("send")
    live.wait_for_notice("not sent: joint1 is too slow")
    live.press("dismiss")
    live.peer.wait_until(lambda: not live.texts(), "the refusal stays")
    live.press("current pose")


def test_angles_are_shown_in_degrees_on_request(live):
    for unit, factor in (("degrees", 180.0 / np.pi), ("radians", 1.0)):
        label = {"degrees": "joint2 [°]", "radians": "joint2 [rad]"}[unit]
        live.press(unit)
        live.peer.wait_until(
            lambda label=label: live.driver.find_elements("xpath", f"//label[.='{label}']"), f"no {label}"
        )
        live.peer.wait_until(
            lambda factor=factor: abs(live.slider_value("joint2") / factor - live.position()[1]) < 0.01,
            f"no {unit}",
        )


def test_a_click_on_a_link_pushes_it_and_the_page_shows_what_the_joints_feel(live):
    from selenium.webdriver.common.action_chains import ActionChains

    felt = []
    live.peer.node.create_subscription(JointState, f"{CONTROLLER}/external_torque", felt.append, qos.LOCKSTEP)
    live.open("Touch")
    live.check("push here")
    live.type("push [N]", 100)
    canvas = live.driver.find_element("css selector", "canvas")
    wide, high = canvas.rect["width"], canvas.rect["height"]
    # The arm stands in the middle of what the plots leave: one place after another, from there.
    shares = itertools.product((-0.05, -0.15, 0.0, -0.25), (0.0, -0.02, 0.02, -0.04, 0.04))
    places = itertools.cycle([(round(x * wide), round(y * high)) for y, x in shares])

    def click():
        ActionChains(live.driver).move_to_element_with_offset(canvas, *next(places)).click().perform()

    live.peer.repeat_until(
        click, lambda: felt and max(np.abs(one.effort).max() for one in felt) > 5.0, "no joint feels a push"
    )
    live.check("push here")
    live.open("Move")


def test_the_slider_of_the_stiffness_is_moved_and_the_arm_yields_accordingly(live):
    """A load that only the simulator has moves the joints by its weight over their stiffness."""
    from selenium.webdriver.common.keys import Keys

    def stiffness():
        request = GetParameters.Request(names=["joint_stiffness"])
        answer = live.peer.call(GetParameters, f"{CONTROLLER}/get_parameters", request)
        return np.array(parameter_value_to_python(answer.values[0]))

    def gives_way():
        """The arm comes to rest where its springs carry the load."""
        before = [live.position()]

        def still():
            before.append(live.position())
            return np.abs(before[-1] - before[-2]).max() < 1e-6

        live.peer.wait_until(still, "the arm does not come to rest")
        way = before[-1] - live.reference()
        weight = bare.gravity(before[-1]) - loaded.gravity(before[-1])
        np.testing.assert_allclose(stiffness() * way, weight, atol=0.05)
        return way

    bare = compile_dynamics(load_urdf(PUMA), friction=False)
    loaded = bare.with_payload(PayloadParameters(payload_mass=1.0).payload)
    began = np.array([200.0, 200.0, 100.0, 3.0, 1.0, 0.07])
    # An estimate of what has pushed the arm before would bear a part of the load.
    given = {
        "ki": -1.0,
        "joint_stiffness": began.tolist(),
        "joint_error_clip": [10.0],
        "mode": "joint_impedance",
    }
    for name, value in given.items():
        answer = live.peer.set_parameter(CONTROLLER, name, value)
        assert answer.successful, answer.reason
    try:
        assert live.peer.set_parameter("simulator", "payload_mass", 1.0).successful
        live.open("Controller")
        live.peer.wait_until(
            lambda: live.driver.find_elements("xpath", f"//label[starts-with(., '{SPRINGS}')]"), "no slider"
        )
        soft = gives_way()
        assert np.abs(soft).max() > 0.01
        thumb, _ = live.slider(SPRINGS)
        thumb.send_keys(Keys.ARROW_RIGHT * 50)
        live.peer.wait_until(lambda: stiffness()[0] > 1.2 * began[0], "the parameter does not follow")
        shown = live.slider_value(SPRINGS)
        live.peer.wait_until(
            lambda: abs(stiffness().max() - shown) < 1e-3 * shown, "parameter and slider differ"
        )
        factor = stiffness() / began
        np.testing.assert_allclose(factor, factor[0], rtol=1e-4)
        assert np.abs(gives_way()).max() < 0.9 * np.abs(soft).max()
    finally:
        assert live.peer.set_parameter("simulator", "payload_mass", 0.0).successful
        for name, value in {"mode": "computed_torque", "ki": 0.0}.items():
            assert live.peer.set_parameter(CONTROLLER, name, value).successful
        live.open("Move")


def test_reset_puts_the_arm_where_it_began_and_the_controller_lets_it_stay(live):
    assert np.abs(live.position() - START).max() > 0.3
    live.reset()
    live.wait_for_notice("reset: puma560 is in its initial state")
    live.peer.wait_until(
        lambda: (
            np.abs(live.reference() - START).max() < 0.15 and np.abs(live.position() - START).max() < 0.15
        ),
        "the arm is not reset",
    )


def test_faults_are_said_in_the_page_and_the_node_goes_on(browser):
    """A description that is refused at the start, no states, no controller."""
    view, address = web_view(
        "/one", robot_description="<robot name='r'><link name='a'/><link name='a'/></robot>"
    )
    with peer_with(view) as peer:
        page = Page(peer, browser, address)
        page.wait_for_notice("two links are named 'a'")
        page.wait_for_notice("no joint states on /one/joint_states")
        page.wait_for_notice("no controller takes trajectories")
        assert view.running and "Traceback" not in view.output


def test_states_that_make_no_sense_are_said_in_the_page(browser):
    view, address = web_view("/two")
    with peer_with(view) as peer:
        page = Page(peer, browser, address)
        page.wait_for_notice("waiting for /two/robot_description")
        robot = peer.publisher(String, "/two/robot_description", qos.DESCRIPTION)
        robot.publish(String(data="<robot name='r'><link name='a'>"))
        page.wait_for_notice("not well-formed XML")
        robot.publish(String(data=PUMA))
        states = peer.publisher(JointState, "/two/joint_states", qos.STATE_PUBLISHER)

        def say(message, text):
            def said():
                states.publish(message)
                return any(text in notice for notice in page.texts())

            peer.wait_until(said, f"the page never says {text!r}")

        say(JointState(name=NAMES, position=[float("nan"), *START[1:]]), "joint1 is not a finite number")
        say(JointState(name=NAMES[:5], position=START[:5].tolist()), "has no joint joint6")
        say(JointState(name=NAMES, position=[0.0]), "1 values of position for 6 joint names")
        page.press("hold")
        page.wait_for_notice("there is no service /two/computed_torque_controller/hold")
        page.press("send")
        page.wait_for_notice("not sent: ")
        assert view.running and "Traceback" not in view.output


def test_a_port_in_use_ends_the_node_with_one_line_that_names_the_parameter():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        with NodeProcess("web_view", {"port": taken.getsockname()[1]}) as node:
            assert node.wait_for_exit() == 1
            assert "parameter 'port'" in node.output and "in use" in node.output
            assert "Traceback" not in node.output


@pytest.mark.parametrize(
    ("parameters", "text"),
    [({"port": 0}, "parameter 'port' must be 1 to 65535"), ({"host": "nowhere.invalid"}, "parameter 'host'")],
)
def test_an_address_that_cannot_be_ends_the_node_with_one_line(parameters, text):
    with NodeProcess("web_view", parameters) as node:
        assert node.wait_for_exit() == 1
        assert text in node.output and "Traceback" not in node.output
