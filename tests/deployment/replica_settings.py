"""The example portal, with a replica that it reads from."""

import os

import dj_database_url

from example_project.settings import *  # noqa: F403 - all of them
from example_project.settings import DATABASES

DATABASES["replica"] = {**dj_database_url.parse(os.environ["REPLICA_URL"])}
DATABASE_ROUTERS = ["tests.deployment.routers.ReplicaRouter"]
