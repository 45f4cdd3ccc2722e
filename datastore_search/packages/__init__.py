"""
One resource as a file that another portal imports: a zip with a Data Package and Parquet.

``descriptor`` says what the resource is, ``exporting`` writes the file, and ``importing`` reads it
as a load (``docs/decisions/0044``).
"""

from .exporting import export_resource
from .importing import ImportOptions, import_resource

__all__ = ["ImportOptions", "export_resource", "import_resource"]
