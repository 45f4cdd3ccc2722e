"""Descriptions become HTML in which only code has a tag."""

from __future__ import annotations

import pytest

from datastore_search.reference.code_spans import render_code_spans


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a `limit` of `0`.", 'a <code dir="ltr">limit</code> of <code dir="ltr">0</code>.'),
        ("`a` < b", '<code dir="ltr">a</code> &lt; b'),
        ("<b>`<i>&\"'`", '&lt;b&gt;<code dir="ltr">&lt;i&gt;&amp;&quot;&#x27;</code>'),
        ("one ` alone", "one ` alone"),
        ("`a` and ` alone", '<code dir="ltr">a</code> and ` alone'),
        ("{} %s {0} `{x}`", '{} %s {0} <code dir="ltr">{x}</code>'),
        ("[a](javascript:x)", "[a](javascript:x)"),
    ],
)
def test_code_between_backticks_has_a_tag_and_all_else_is_escaped(text: str, rendered: str) -> None:
    assert render_code_spans(text) == rendered
