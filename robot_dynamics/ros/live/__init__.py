"""One command from a robot's file to the robot moving in a browser."""
