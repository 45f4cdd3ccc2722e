"""Settings of the measured portal: the example's, with a slot for each connection."""

from example_project.settings import *  # noqa: F403 - all of them

#: A slow request is timed with eight connections, and none of its answers may be 503.
DATASTORE_SEARCH_MAX_SLOTS = DATASTORE_SEARCH_MAX_SLOTS_PER_CLIENT = 100
DATASTORE_SEARCH_MAX_STREAMS = 200
