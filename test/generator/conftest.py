"""The generator's tests share the random robots and the Pinocchio oracle of the dynamics tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "dynamics"))
