"""The command mlc, as python -m mlc."""

import os
import subprocess
import sys

from . import Error, command

try:
    line = [command(), *sys.argv[1:]]
except Error as error:
    sys.exit(f"mlc: {error}")
if os.name == "posix":
    os.execv(line[0], line)
sys.exit(subprocess.call(line))
