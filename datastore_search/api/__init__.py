"""CKAN's action API over HTTP."""
