"""Writes advances.json: advance widths of two common fonts, in thousandths of the font size, read from their `hmtx` tables.

Needs fontTools and the Debian packages fonts-dejavu-core and fonts-liberation: python3 advances.py > advances.json
A character that a font does not have is left out.
"""

import json

from fontTools.ttLib import TTFont

ROOT = "/usr/share/fonts/truetype/"
FILES = {
    "DejaVu Sans": ("dejavu/DejaVuSans.ttf", "dejavu/DejaVuSans-Bold.ttf"),
    "Liberation Sans": ("liberation/LiberationSans-Regular.ttf", "liberation/LiberationSans-Bold.ttf"),
}
CHARACTERS = [chr(i) for i in [*range(0x20, 0x7F), *range(0xA0, 0x100)]] + sorted(
    "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ–—‘’“”…‰′⁰⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉−∞≈≠≤≥√∑∫∈→‖"
)


def widths(path):
    font = TTFont(ROOT + path)
    names, advances, unit = font.getBestCmap(), font["hmtx"], font["head"].unitsPerEm
    return {c: round(1000 * advances[names[ord(c)]][0] / unit, 1) for c in CHARACTERS if ord(c) in names}


tables = {name: {"regular": widths(files[0]), "bold": widths(files[1])} for name, files in FILES.items()}
print(json.dumps(tables, ensure_ascii=False, indent=0, separators=(",", ":")).replace(",\n", ",").replace("{\n", "{"))
