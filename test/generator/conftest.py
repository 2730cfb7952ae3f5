"""The generator's tests share the random robots and the Pinocchio oracle of the dynamics tests."""

import sys
from pathlib import Path

for _room in ("dynamics", "model"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _room))
