"""``python -m treadle_triggerer``: a triggerer whose configuration comes by the environment alone."""

from __future__ import annotations

import logging
import sys

from treadle_triggerer.main import from_environment, run
from treadle_triggerer.server import ServerRefused

if __name__ == "__main__":
    # As the lines of the other daemons look, whose files lie beside this one's.
    line = "%(asctime)s.%(msecs)03d  triggerer  %(levelname)s  %(message)s"
    logging.basicConfig(level=logging.INFO, format=line, datefmt="%Y-%m-%d %H:%M:%S")
    try:
        run(from_environment())
    except ServerRefused as error:
        sys.exit(str(error))
