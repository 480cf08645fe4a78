"""The words of Rich Text Format, version 1.9.1: tokens, destinations, characters, encodings."""

from __future__ import annotations

import codecs
import re

from schemas.document import ElementKind

TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9a-fA-F]{2})"
    r"|\\(?P<symbol>[^a-zA-Z])|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)
SKIPPED = frozenset(
    {
        *("colortbl", "filetbl", "listtable", "listoverridetable", "revtbl"),
        *("rsidtbl", "themedata", "colorschememapping", "datastore", "latentstyles"),
        *("generator", "xmlnstbl", "mmathPr", "pgptbl", "fontemb"),
        *("pict", "objdata", "objclass", "objname", "blipuid"),
        *("bkmkstart", "bkmkend", "atnid", "atnauthor", "atndate"),
        *("atntime", "atnref", "atnicn", "atrfstart", "atrfend"),
        *("pn", "sn", "sv", "shprslt", "nonshppict"),
        *("do", "operator", "creatim", "revtim", "printim"),
        *("buptim", "subject", "keywords", "doccomm", "comment"),
        *("company", "manager", "category", "hlinkbase", "userprops"),
        *("docvar", "xe", "tc", "ftnsep", "ftnsepc"),
        *("ftncn", "aftnsep", "aftnsepc", "aftncn", "template"),
        *("nonesttables", "panose", "falt"),
    }
)
"""Destinations whose text is not the document's."""
KEPT_STARRED = frozenset({"annotation", "fldinst", "shpinst", "shppict", "nesttableprops"})
STORIES: dict[str, ElementKind] = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "header"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footer"),
    "footnote": "footnote",
    "annotation": "annotation",
}
CHARACTERS = {
    "tab": "\t",
    "line": "\n",
    "page": "\n",
    "column": "\n",
    "emdash": "—",
    "endash": "–",
    "emspace": "\u2003",
    "enspace": "\u2002",
    "qmspace": "\u2005",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "~": "\u00a0",
    "_": "\u2011",
    "{": "{",
    "}": "}",
    "\\": "\\",
}
CHARSETS = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "cp1361",
    134: "cp936",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
LAYOUT_FIELDS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES", "PAGEREF"})


def character(number: int) -> str:
    r"""Return the character of \u, which writes numbers above 32,767 less 65,536."""
    code = number + 65_536 if number < 0 else number
    return chr(code) if 0 < code <= 0x10FFFF else ""


def known_encoding(encoding: str) -> str:
    """Return the name of an encoding; of Windows-1252 where it is unknown."""
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return "cp1252"
