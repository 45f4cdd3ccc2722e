"""Python package frictionless 5 publishes a package: https://framework.frictionlessdata.io."""

import sys
from pathlib import Path

from frictionless import Package, Resource, system
from frictionless.portals import CkanControl

base, token, path = sys.argv[1:]
table = Resource(name="levels", path=path, basepath=str(Path(path).parent))
with system.use_context(trusted=True):
    package = Package(name="levels-2026", title="Levels", resources=[table])
    package.publish(control=CkanControl(baseurl=base, apikey=token, organization_name=""))
