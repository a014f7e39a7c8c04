"""Settings of all tests: properties are about results, never about time, and CI tries the same examples every time."""

import os

from hypothesis import settings

settings.register_profile("clusterwright", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("clusterwright")
