"""Settings of the attacked portal: the example's, without rates, which would hide the rest."""

import os

os.environ.setdefault("THROTTLE", "0")
os.environ.setdefault("METRICS", "1")

from example_project.settings import *  # noqa: F403 - all of them
from example_project.settings import REST_FRAMEWORK as _REST_FRAMEWORK

if os.environ.get("ABUSE_NGINX"):  # addresses are those that nginx names
    globals().update(REST_FRAMEWORK={**_REST_FRAMEWORK, "NUM_PROXIES": 1})
