#!/usr/bin/python3
"""Writes han-regular.otf and han-bold.otf: the Chinese half of the window's type.

Fyne's own fonts have no Chinese glyphs, and what a system has differs. So the
window brings the 3755 common characters of GB 2312 level 1, every character of
the Chinese translations and full-width punctuation, cut from Noto Sans CJK SC.
Latin letters, digits and punctuation that both scripts share stay with Fyne's
Noto Sans, but for five signs that it lacks. The vertical metrics are set to
Noto Sans' own, so that a line of either script, or of both, has one height.

Needs Debian's fonts-noto-cjk and python3-fonttools. Run it again when a
translation uses a character that is not in the fonts; a test tells.
"""

import glob
import json
import os
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = "/usr/share/fonts/opentype/noto/NotoSansCJK-%s.ttc"
SIMPLIFIED = 2  # index of "Noto Sans CJK SC" in the collection
ASCENT, DESCENT = 1069, 293  # Noto Sans, hhea, 1000 units per em


def common():
    """The characters of GB 2312 level 1: rows 16 to 55."""
    for high in range(0xB0, 0xD8):
        for low in range(0xA1, 0xFF):
            try:
                yield bytes([high, low]).decode("gb2312")
            except UnicodeDecodeError:
                pass  # row 55 is not full


def translated():
    """The wide characters of the Chinese translations."""
    for path in glob.glob(os.path.join(HERE, "..", "locale", "*.zh.json")):
        with open(path, encoding="utf-8") as file:
            for character in json.dumps(json.load(file), ensure_ascii=False):
                if ord(character) >= 0x2E80:
                    yield character


def punctuation():
    yield from " "  # a run of Chinese keeps its face across a space
    yield from map(chr, range(0x3000, 0x3012))
    yield from map(chr, range(0xFF01, 0xFF5F))
    yield "\uffe5"
    yield from "\u2212\u2192\u2264\u2265\u2248"  # − → ≤ ≥ ≈, which Fyne's Noto Sans lacks


def write(weight):
    options = subset.Options(
        layout_features=[], hinting=False, name_IDs=[0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 13, 14], font_number=SIMPLIFIED
    )
    font = subset.load_font(SOURCE % weight, options)
    cut = subset.Subsetter(options)
    cut.populate(text="".join(sorted(set(common()) | set(translated()) | set(punctuation()))))
    cut.subset(font)
    font["hhea"].ascent, font["hhea"].descent, font["hhea"].lineGap = ASCENT, -DESCENT, 0
    os2 = font["OS/2"]
    os2.sTypoAscender, os2.sTypoDescender, os2.sTypoLineGap = ASCENT, -DESCENT, 0
    os2.usWinAscent, os2.usWinDescent = ASCENT, DESCENT
    for tag in ("vhea", "vmtx", "VORG", "BASE"):  # vertical writing
        if tag in font:
            del font[tag]
    for record in font["name"].names:
        new = {1: "Plimsoll Han", 4: "Plimsoll Han " + weight, 6: "PlimsollHan-" + weight}.get(record.nameID)
        if new:
            record.string = new
    font.recalcTimestamp = False
    path = os.path.join(HERE, "han-%s.otf" % weight.lower())
    font.save(path)
    print(path, os.path.getsize(path), "bytes", len(TTFont(path).getBestCmap()), "characters", file=sys.stderr)


for weight in ("Regular", "Bold"):
    write(weight)
