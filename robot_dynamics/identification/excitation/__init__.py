"""Motion that shows what a robot is: planned before anything moves."""
