"""These tests use the robots that the model's tests find on this machine."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
