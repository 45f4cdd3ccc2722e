"""Files in archives, and archives that are none, or too much of one."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case

CASES = [
    *(
        Case(file, trap, fields="id: int4, name: text", records=[[1, "Anna"], [2, "Ben"]])
        for file, trap in (
            ("plain.csv.gz", "a gzip"),
            ("one_file.zip", "a zip with one file, and what macOS adds"),
            ("gzip_within.zip", "a gzip within a zip"),
            ("wicked_name.zip", "a name that leads out of the folder"),
        )
    ),
    Case(
        "two_files.zip",
        "one of the two is chosen",
        LoadOptions(member="b/towns.csv"),
        fields="tên: text, dân số: int4",
        records=[["Hà Nội", 8053663], ["Đà Nẵng", 1134310], ["Thành phố Hồ Chí Minh", 8993082]],
    ),
]
