"""Takes the first picture of a report of ``identify`` for the tutorial: friction against speed.

python docs/tools/draw_identified.py found/report.html
"""

import base64
import re
import sys
from pathlib import Path

IMAGE = Path(__file__).resolve().parents[1] / "images" / "identified_friction.png"

if __name__ == "__main__":
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    IMAGE.write_bytes(base64.b64decode(re.findall(r'src="data:image/png;base64,([^"]+)"', page)[0]))
    print(IMAGE)
