"""Any text as LaTeX that every engine and every font encoding can set: plain ASCII."""

from __future__ import annotations

import re
import unicodedata

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "#": r"\#", "$": r"\$", "%": r"\%",
    "&": r"\&", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\symbol{34}",
    "`": r"\textasciigrave{}", "'": r"'{}", "-": r"-{}", ",": r",{}", "[": "{[}", "]": "{]}",
    "*": "{*}", "–": "--{}", "—": "---{}", "‘": "`{}", "’": "'{}", "“": "``{}", "”": "''{}",
    "…": r"\ldots{}", "·": r"$\cdot$", "\u00a0": "~", "§": r"\S{}",
    "≥": r"$\geq$", "≤": r"$\leq$", "×": r"$\times$", "±": r"$\pm$", "−": "$-$",
    "ß": r"\ss{}", "ø": r"\o{}", "Ø": r"\O{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}",
    "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "δ": r"$\delta$", "ε": r"$\epsilon$",
    "η": r"$\eta$", "θ": r"$\theta$", "κ": r"$\kappa$", "λ": r"$\lambda$", "μ": r"$\mu$",
    "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "τ": r"$\tau$", "ω": r"$\omega$",
}  # fmt: skip
"""`[` and `*` would be read as arguments of the row's end before them; `--`, `,,` and their like
would join into other signs, so that an empty group stands between them."""

_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip

UNICODE = r"""\DeclareRobustCommand{\tandemcode}[1]{{\ttfamily U+#1}}
\DeclareRobustCommand{\tandemunicode}[2]{\ifdefined\Umathcode
  \iffontchar\font#1 \char#1\relax\else\tandemcode{#2}\fi\else\tandemcode{#2}\fi}"""
"""Any other character: itself where engine and font have it, else its number."""

# An empty group is needed only before what it keeps apart, and is noise elsewhere.
_NEEDLESS = re.compile(r"(?<=[-,'`])\{\}(?![-,'`])")


def tex(text: str) -> str:
    """A text on one line as LaTeX; every character shows, and none of them acts."""
    made = "".join(map(_sign, " ".join(text.split())))
    return _NEEDLESS.sub("", made)


def _sign(character: str) -> str:
    known = _SIGNS.get(character)
    if known is not None:
        return known
    if " " <= character < "\x7f":
        return character
    parts = unicodedata.normalize("NFD", character)
    letter, accent = parts[0], _ACCENTS.get(parts[1:])
    if letter.isascii() and letter.isalpha() and accent:
        return f"\\{accent}{{{letter}}}"
    return rf"\tandemunicode{{{ord(character)}}}{{{ord(character):04X}}}"
