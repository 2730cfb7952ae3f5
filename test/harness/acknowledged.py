"""Sends messages to a process of its own, each when the one before has arrived; prints the time."""

import multiprocessing
import time

import rclpy
from rclpy.duration import Duration
from std_msgs.msg import Bool

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import use_sockets

COUNT = 20


def listen() -> None:
    """Take what comes."""
    rclpy.init()
    node = rclpy.create_node("listener")
    node.create_subscription(Bool, "acknowledged", lambda _: None, qos.STREAM)
    rclpy.spin(node)


def main() -> None:
    """Send and wait."""
    use_sockets()
    listener = multiprocessing.get_context("spawn").Process(target=listen)
    listener.start()
    rclpy.init()
    sender = rclpy.create_node("sender").create_publisher(Bool, "acknowledged", qos.STREAM)
    while not sender.get_subscription_count():
        time.sleep(0.01)
    began = time.monotonic()
    for _ in range(COUNT):
        sender.publish(Bool())
        sender.wait_for_all_acked(Duration(seconds=60.0))
    took = time.monotonic() - began
    listener.kill()  # before the parent ends, which whoever reads the line may kill
    listener.join()
    print(f"acknowledged {COUNT} in {took:.1f} s", flush=True)


if __name__ == "__main__":
    main()
