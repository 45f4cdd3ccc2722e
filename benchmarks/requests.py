"""The requests that are timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: A rare value and a rare word: few of a million records have them.
ONE_VALUE = {"filters": {"Package": "nginx"}}
RARE_WORD = {"q": "chatroom", "limit": 100}

_SUBJECTS = {"filters": {"Section": ["net", "admin"], "Priority": "optional"}}
_COMMON_WORD = {"q": "support", "limit": 100}
_FACETS = ["Section", "Priority", "Architecture", "Maintainer", "Source"]
_SELECTIVE = {"filters": {"Size": {"gte": 100_000, "lt": 101_000}}}
_RANGE = {"filters": {"Size": {"gte": 100_000, "lt": 110_000}}}


@dataclass(frozen=True, slots=True)
class Request:
    """
    A request, independent of the server.

    ``repeated`` sends it again, with the ETag of the first answer.  A ``private`` request goes to a
    private resource; a ``dump`` has another address, and so has another ``action``.  ``get`` sends
    the parameters in the address.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    get: bool = False
    repeated: bool = False
    private: bool = False
    dump: bool = False
    action: str = "datastore_search"


def build_requests(rows: int) -> list[Request]:
    """List the requests to a resource with this number of records."""
    return [
        Request("a_limit5", {"limit": 5}),
        Request("b_limit100", {"limit": 100}),
        Request("c_q_rare", RARE_WORD),
        Request("c_q_rare_nototal", {**RARE_WORD, "include_total": False}),
        Request("d_q_common", _COMMON_WORD),
        Request("d_q_common_nototal", {**_COMMON_WORD, "include_total": False}),
        Request("d_q_common_offset", {**_COMMON_WORD, "offset": 1_000}),
        Request("e_filter_package", ONE_VALUE),
        Request("f_filter_subjects", _SUBJECTS),
        Request("f_filter_subjects_nototal", {**_SUBJECTS, "include_total": False}),
        Request("g_offset_half", {"offset": rows // 2, "limit": 100}),
        Request("h_sort_size", {"sort": "Installed-Size desc", "limit": 100}),
        Request("i_limit32000", {"limit": 32_000}),
        Request("j_q_and_filter", {"q": "support", "filters": {"Section": "net"}, "limit": 100}),
        Request("k_offset_end", {"offset": rows * 9 // 10, "limit": 100}),
        Request("l_sort_text", {"sort": "Package", "limit": 100}),
        Request("m_sort_number", {"sort": "Size desc", "limit": 100}),
        Request("n_sort_date", {"sort": "Released", "limit": 100}),
        Request("o_range", {**_RANGE, "sort": "_id", "limit": 100}),
        Request("p_range_sorted", {**_RANGE, "sort": "Released desc", "limit": 100}),
        Request("q_distinct", {"fields": ["Section"], "distinct": True}),
        Request("q_facets", {"facets": _FACETS}, action="datastore_facets"),
        Request("q_facets_filtered", {"facets": _FACETS, **_SELECTIVE}, action="datastore_facets"),
        Request("q_aggregate", {"group_by": "Section", "limit": 100}, action="datastore_aggregate"),
        Request("q_suggest", {"field": "Package", "prefix": "ngin"}, action="datastore_suggest"),
        Request("q_did_you_mean", {"q": "netwrok libary"}, action="datastore_suggest"),
        Request("r_filter_common", {"filters": {"Priority": "optional"}, "limit": 100}),
        Request("s_csv", {"records_format": "csv", "limit": 1000}),
        Request("t_repeated", {"limit": 100}, get=True, repeated=True),
        Request("u_gzip", {"limit": 100}, headers={"Accept-Encoding": "gzip"}),
        Request("v_private", {"limit": 100}, private=True),
        Request("w_dump", dump=True),
    ]
