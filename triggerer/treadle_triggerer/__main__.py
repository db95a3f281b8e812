"""``python -m treadle_triggerer``: a triggerer whose configuration comes by the environment alone."""

from __future__ import annotations

import logging
import sys

from treadle_triggerer.main import from_environment, run
from treadle_triggerer.server import ServerRefused

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        run(from_environment())
    except ServerRefused as error:
        sys.exit(str(error))
