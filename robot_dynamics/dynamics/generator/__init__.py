"""Customised straight-line models: the fewest operations for one robot.

``dynamics.programs.generate`` is the entry point; ``dynamics.quantities`` has one module for each quantity,
which puts together what is here. The order of the modules from the robot to the program:

    links         the robot as numbers, pseudo-inertias
    inputs        what is asked for, and the arrays that the program takes
    choices       what may be chosen freely, and sensible defaults
    regrouping    which link carries which parameter
    angles, vectors, motion, moments   the parts of the recursion
    recursion     inverse dynamics over runs of parallel axes
    gravity, mass_matrix, forward_dynamics, articulated_body, jacobian, runs   the other recursions
    search        coordinate descent over the choices
    tracing       the search for any quantity
"""
