"""A coverage-guided search for inputs that break gates: guided.py GATE[,GATE] [libFuzzer's options] CORPUS...

New inputs go to the first folder of the corpus; an input that breaks the gate goes to ``-artifact_prefix``.
The word {gate} in the options stands for each gate's name; several gates are searched one after another.
"""

import functools
import os
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
    names = sys.argv.pop(1).split(",")
    for name in names:
        # The instrumented modules are imported once for all.
        if len(names) > 1 and os.fork():
            if code := os.waitstatus_to_exitcode(os.wait()[1]):
                sys.exit(f"the search at {name} ended with {code}")
            continue
        words = [word.replace("{gate}", name) for word in sys.argv]
        atheris.Setup(words, functools.partial(gates.knock, name))
        atheris.Fuzz()
