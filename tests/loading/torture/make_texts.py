"""The content of the delimited files in which the bytes are the trap, and of the archives."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from functools import partial
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from .make_files import BUILDERS, build_archive, register_builder

_TOWNS = "tên,dân số\nHà Nội,8053663\nĐà Nẵng,1134310\nThành phố Hồ Chí Minh,8993082\n"
_PLAIN = b"id,name\n1,Anna\n2,Ben\n"

#: Vietnamese in Windows-1258: a vowel, followed by its tone.
_WINDOWS_1258 = (
    b"t\xean,d\xe2n s\xf4\xec\n"
    b"H\xe0 N\xf4\xf2i,8053663\n"
    b"\xd0a\xcc N\xe3\xdeng,1134310\n"
    b"Tha\xccnh ph\xf4\xec H\xf4\xcc Ch\xed Minh,8993082\n"
)


@register_builder("encrypted.zip")
def _build_encrypted() -> bytes:
    """Mark the only member of a zip as encrypted, in both of its headers."""
    archive = bytearray(build_archive({"data.csv": _PLAIN}))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(mark) + flags] |= 1
    return bytes(archive)


@register_builder("oddly_packed.zip")
def _build_oddly_packed() -> bytes:
    """Mark the only member of a zip as compressed by an unsupported method (98 is PPMd)."""
    archive = bytearray(build_archive({"data.csv": _PLAIN}))
    for mark, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        archive[archive.index(mark) + method] = 98
    return bytes(archive)


@register_builder("bomb.zip")
def _build_zip_bomb() -> bytes:
    """Compress 100 MB of zeros to 100 kB, and these to a few hundred bytes."""
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        info = ZipInfo("data.csv.gz")
        info.compress_type = ZIP_DEFLATED
        archive.writestr(info, gzip.compress(b"a\n" + b"0" * 100 * 2**20, mtime=0))
    return target.getvalue()


_GZIPPED = gzip.compress(_PLAIN, mtime=0)

_CONTENTS: Mapping[str, bytes] = {
    # Encodings
    "utf8_mark.csv": "\ufeffid,tên\n1,Hà Nội\n".encode(),
    "utf8_mark_twice.csv": "\ufeff\ufeffid,tên\n1,Hà Nội\n".encode(),
    "utf16_excel.txt": "\ufeff".encode("utf-16-le")
    + "id\ttên\r\n1\tHà Nội\r\n2\tCần Thơ\r\n".encode("utf-16-le"),
    "utf16_big_endian.csv": b"\xfe\xff" + _TOWNS.encode("utf-16-be"),
    "utf16_without_mark.csv": _TOWNS.encode("utf-16-le"),
    "windows_1258.csv": _WINDOWS_1258,
    "windows_1252.csv": "nom,ville\nJoão,São Paulo\nFrançois,Orléans\n".encode("cp1252"),
    "windows_1251.csv": "имя,город\nИван,Москва\nОльга,Санкт-Петербург\n".encode("cp1251"),
    "shift_jis.csv": "名前,都市\n太郎,東京\n花子,大阪府\n".encode("cp932"),
    "utf8_damaged.csv": b"".join(f"{n},Hà Nội\n".encode() for n in range(9)) + b"9,H\xc3 N\n",
    "utf8_composed.csv": "k,v\ne\u0301,1\né,2\n".encode(),
    "nul.csv": b"id,name\n1,An\0na\n",
    "junk.csv": bytes(range(128, 256)) + bytes(range(1, 128)),
    "picture.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
    "page.csv": b"<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n",
    "document.csv": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "empty.csv": b"",
    "blank.csv": b"\n  \r\n\n",
    "mark_alone.csv": b"\xef\xbb\xbf\n",
    # How cells are separated
    "semicolons.csv": b'name;note\nAnna;"a; b"\nBen;c, d, e\n',
    "tabs.tsv": b"name\tnote\nAnna\ta, b; c\nBen\t\n",
    "pipes.csv": b"name|note\nAnna|a,b\nBen|c;d\n",
    "sep_line.csv": b"sep=;\r\nname;note\r\nAnna;x,y\r\n",
    "hats.csv": b"name^note\nAnna^x, y\n",
    "two_characters.csv": b"name||note\nAnna||x|y\n",
    "single_quotes.csv": b"name,note\n'Anna','a, b'\n'Ben','c'\n",
    "backslashes.csv": b'name,note\n"Anna","says \\"a, b\\""\n"Ben","c"\n',
    "one_column.csv": b"title\nHello, world\n\nOne; two\n\n\n",
    "one_column_quoted.csv": b'title\n"a, b"\n""\n',
    "blanks_around.csv": b'name,note\n Anna ," x "\n\t,y\n',
    "empty_and_null.csv": b'name,note\n"",\n,""\n',
    "delimiters_at_end.csv": b"id,name,,\n1,Anna,,\n2,Ben,,\n",
    "delimiters_in_rows.csv": b"id,name\n1,Anna,\n2,Ben,,\n3,Carl\n",
    "wide.csv": b",".join(b"c%d" % n for n in range(300))
    + b"\n"
    + b",".join(b"%d" % n for n in range(300))
    + b"\n",
    "too_wide.csv": b",".join(b"c%d" % n for n in range(1_601)) + b"\n",
    # Lines
    "quoted_breaks.csv": b'id,text\r\n1,"one\ntwo"\r\n2,"three\r\n\r\nfour"\r\n3,five\r\n4\r\n',
    "returns.csv": b'id,text\r1,"a\rb"\r2,c\r3\r',
    "mixed_ends.csv": b"id,text\r\n1,a\n2,b\r3,c\r\n4\n",
    "blank_lines.csv": b"\n\nid,text\n\n1,a\n   \n2,b\n\n3\n\n",
    "no_last_end.csv": b"id,text\n1,a\n2,b",
    "header_only.csv": b"id,name\n",
    "header_over_lines.csv": b'id,"name\nof person"\n1,Anna\n2\n',
    "ragged.csv": b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,1,1\n",
    "all_ragged.csv": b"a,b,c\n1,2\n3,4\n",
    "footer.csv": b"a,b,c\n1,2,3\n\nTotal: 1 row\n",
    "open_quote.csv": b'id,text\n1,a\n2,"b\n3,c\n4,d\n',
    "stray_quote.csv": b'id,text\n1,"a" b\n2,5" pipe\n3,"c"\n',
    # Titles above the header
    "titles.csv": b"Report of 2024, by town\nAll figures\n\nid,name\n1,Anna\n2\n",
    "titles_padded.csv": b"Report of 2024,,\n,,\nid,name,age\n1,Anna,30\n",
    "comments.csv": b"# made, by hand\n# today\nid,name\n1,Anna\n",
    "titles_to_skip.csv": b'My "own table\n1,2\nid,name\n1,Anna\n2\n',
    # Headers
    "names.csv": 'id,Name,name,,name,_id,"two\nlines", blanks ,tên\u00a0gọi,{}\n'.format(
        "long " * 60
    ).encode()
    + b"1,2,3,4,5,6,7,8,9,10\n",
    # Archives
    "plain.csv.gz": _GZIPPED,
    "truncated.csv.gz": _GZIPPED[:-12],
    "damaged.csv.gz": _GZIPPED[:14] + b"\xff\xff\xff\xff" + _GZIPPED[18:],
    "twice.csv.gz": gzip.compress(_GZIPPED, mtime=0),
    "one_file.zip": build_archive(
        {
            "__MACOSX/._data.csv": b"\0",
            "data/": b"",
            "data/.DS_Store": b"\0",
            "data/data.csv": _PLAIN,
        }
    ),
    "two_files.zip": build_archive({"a/people.csv": _PLAIN, "b/towns.csv": _TOWNS.encode()}),
    "gzip_within.zip": build_archive({"data.csv.gz": _GZIPPED}),
    "zip_within.zip": build_archive({"data.zip": build_archive({"data.csv": _PLAIN})}),
    "no_files.zip": build_archive({}),
    "wicked_name.zip": build_archive({"../../../etc/cron.d/data.csv": _PLAIN}),
    "truncated.zip": build_archive({"data.csv": _PLAIN * 50})[:120],
}

for _name, _content in _CONTENTS.items():
    BUILDERS[_name] = partial(bytes, _content)
