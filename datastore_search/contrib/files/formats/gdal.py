"""
What pyogrio does not give of GDAL: fewer drivers, and the conversion of coordinates to WGS 84.

Source: GDAL's C API, ``gdal.h``, ``ogr_api.h`` and ``ogr_srs_api.h``.
"""

from __future__ import annotations

import ctypes
import warnings
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_void_p

from pyogrio import _ogr, set_gdal_config_options

from ..messages.failures import LoadFailed

_DRIVERS = (b"ESRI Shapefile", b"GPKG", b"GPX", b"LIBKML")
_CONFIGURATION = {
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": ".none",
    "GPX_ELE_AS_25D": True,
    "OGR_ARROW_MEM_LIMIT": 32 * 2**20,
    "OGR_GPKG_NUM_THREADS": 1,
}
_TARGET = b"OGC:CRS84"
#: GeoJSON has longitudes first, as maps have, whatever a system says.
_LONGITUDE_FIRST = 0
#: PROJ takes minutes for numbers that no system has.
_MAX_COORDINATE = 1e12
#: A tenth of a millimetre.
_OPTIONS = (c_char_p * 2)(b"XY_COORD_PRECISION=9", None)

#: A module that is linked with GDAL.
_GDAL = ctypes.CDLL(_ogr.__file__)

for _name, _result, _arguments in (
    ("GDALGetDriver", c_void_p, [c_int]),
    ("GDALGetDriverShortName", c_char_p, [c_void_p]),
    ("GDALDeregisterDriver", None, [c_void_p]),
    ("OSRNewSpatialReference", c_void_p, [c_char_p]),
    ("OSRSetFromUserInput", c_int, [c_void_p, c_char_p]),
    ("OSRGetName", c_char_p, [c_void_p]),
    ("OSRSetAxisMappingStrategy", None, [c_void_p, c_int]),
    ("OCTNewCoordinateTransformation", c_void_p, [c_void_p, c_void_p]),
    ("OGR_G_CreateGeometryFromJson", c_void_p, [c_char_p]),
    ("OGR_G_CreateFromWkb", c_int, [c_char_p, c_void_p, POINTER(c_void_p), c_int]),
    ("OGR_G_GetEnvelope", None, [c_void_p, POINTER(c_double)]),
    ("OGR_G_Transform", c_int, [c_void_p, c_void_p]),
    ("OGR_G_ExportToJsonEx", c_void_p, [c_void_p, POINTER(c_char_p)]),
    ("OGR_G_DestroyGeometry", None, [c_void_p]),
    ("VSIFree", None, [c_void_p]),
):
    _function = getattr(_GDAL, _name)
    _function.restype, _function.argtypes = _result, _arguments


# Take the drivers of other formats away from GDAL, and the network.
for _driver in [_GDAL.GDALGetDriver(at) for at in range(_GDAL.GDALGetDriverCount())]:
    if _GDAL.GDALGetDriverShortName(_driver) not in _DRIVERS:
        _GDAL.GDALDeregisterDriver(_driver)
set_gdal_config_options(_CONFIGURATION)


class CoordinateConverter:
    """Converts geometries from a system of coordinates to WGS 84."""

    def __init__(self, system: str) -> None:
        """Begin with a code such as ``EPSG:3405``, or with WKT."""
        source, target = (_build_system(each) for each in (system.encode(), _TARGET))
        self.name = _GDAL.OSRGetName(source).decode()
        self._transformation = _GDAL.OCTNewCoordinateTransformation(source, target)
        if not self._transformation:
            raise LoadFailed("geo.unknown_coordinates")

    def convert(self, shape_content: bytes, *, is_json: bool = False) -> str | None:
        """Write a geometry in WKB or GeoJSON as GeoJSON; None if it cannot be converted."""
        shape = c_void_p()
        if is_json:
            with warnings.catch_warnings(action="ignore"):
                shape.value = _GDAL.OGR_G_CreateGeometryFromJson(shape_content)
        elif _GDAL.OGR_G_CreateFromWkb(shape_content, None, byref(shape), len(shape_content)):
            return None
        if not shape:
            return None
        text = None
        envelope = (c_double * 4)()
        _GDAL.OGR_G_GetEnvelope(shape, envelope)
        try:
            if all(abs(number) < _MAX_COORDINATE for number in envelope) and not (
                _GDAL.OGR_G_Transform(shape, self._transformation)
            ):
                text = _GDAL.OGR_G_ExportToJsonEx(shape, _OPTIONS)
            return ctypes.string_at(text).decode().replace(" ", "") if text else None
        finally:
            _GDAL.VSIFree(text)
            _GDAL.OGR_G_DestroyGeometry(shape)


def _build_system(definition: bytes) -> c_void_p:
    """Build a system of coordinates."""
    system = c_void_p(_GDAL.OSRNewSpatialReference(None))
    if _GDAL.OSRSetFromUserInput(system, definition):
        raise LoadFailed("geo.unknown_coordinates")
    _GDAL.OSRSetAxisMappingStrategy(system, _LONGITUDE_FIRST)
    return system
