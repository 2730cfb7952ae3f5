"""A coverage-guided search for inputs that break a gate: guided.py GATE [libFuzzer's options] CORPUS...

What it finds interesting goes to the first folder of the corpus; what breaks the gate, to
``-artifact_prefix``.
"""

import sys

import atheris

with atheris.instrument_imports(
    include=[
        "robot_dynamics.inputs",
        "robot_dynamics.model",
        "robot_dynamics.cli",
        "robot_dynamics.identification",
        "robot_dynamics.stewart.loader",
        "robot_dynamics.stewart.physical",
    ]
):
    import gates

if __name__ == "__main__":
    gate = sys.argv.pop(1)

    def try_input(data: bytes) -> None:
        """One input."""
        gates.knock(gate, data)

    atheris.Setup(sys.argv, try_input)
    atheris.Fuzz()
