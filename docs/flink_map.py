#!/usr/bin/env python3
"""Writes docs/flink-map.md from the comments of the public headers: which class of Flink each of ours answers to.

usage: docs/flink_map.py    (from any folder; needs nothing but Python)

A comment block says `Flink: A, B.` and perhaps `Differs: what, and why.`; the first ends with its sentence, the second with the next
label (`Threads:`) or the paragraph. The name is that of the class, function, alias or constant below it; a block that stands alone counts
for its file.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Weir's classes and Flink's

Who knows Flink's runtime finds each room by name: types keep Flink's name where the role is the same. This table is written by
`docs/flink_map.py` from the comments of the public headers; mend a comment there, not a row here. Why we differ on purpose stands in
[differences.md](differences.md).

"""
NAME = re.compile(r"^std::function<.*> (\w+);|"
                  r"^(?:template.*>\s*)?(?:class|struct|enum class|concept)\s+(?:alignas\(\w+\)\s+)?(\w+)|^using (\w+) =|(\w+)\(|(\w+) =")


def blocks(lines):
    """(comment paragraphs joined, name of what stands below it) of each /// block."""
    i = 0
    while i < len(lines):
        if not lines[i].lstrip().startswith("///"):
            i += 1
            continue
        comment = []
        while i < len(lines) and lines[i].lstrip().startswith("///"):
            comment.append(lines[i].lstrip()[3:].strip())
            i += 1
        below = i
        while below < len(lines) and lines[below].strip().startswith(("template", "requires")):
            below += 1
        text = lines[below].strip() if below < len(lines) else ""
        found = NAME.search(text)
        yield "\n".join(comment), next((g for g in found.groups() if g), None) if found else None


def clause(text, label, whole):
    """What follows `label`: its first sentence, or with `whole` all of it up to the next label; '' if it is not there."""
    at = text.find(label)
    if at < 0:
        return ""
    rest = re.split(r"\n\s*\n", text[at + len(label):])[0].replace("\n", " ")
    rest = re.split(r"\s(?=[A-Z][a-z]+(?: cycle)?: )|\s(?=Used by )", rest)[0]
    if not whole:
        rest = re.split(r"\.\s", rest)[0]
    rest = re.sub(r"\s+", " ", rest).strip().removesuffix(".")
    return rest[:-1] if rest.count(")") > rest.count("(") else rest  # the label itself stood in parentheses


def rows(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    for text, name in blocks(lines):
        flink = clause(text, "Flink: ", False)
        if flink:
            yield name or path.stem, flink, clause(text, "Differs: ", True)


def main():
    rooms = [line for line in (ROOT / "tests/lint/rooms.txt").read_text().splitlines() if line and not line.startswith("#")]
    out = HEAD
    for line in rooms:
        floor, rest = line.split(":")
        for room in rest.partition(" on ")[0].split():
            found = [(name, flink, differs, path) for path in sorted((ROOT / floor / room).glob("include/weir/*/*.h"))
                     for name, flink, differs in rows(path)]
            if not found:
                continue
            out += f"## {floor}/{room}\n\n| Weir | Flink | differs |\n|---|---|---|\n"
            for name, flink, differs, path in found:
                cells = [cell.replace("|", "\\|") for cell in (flink, differs)]
                out += f"| [`{name}`](../{path.relative_to(ROOT)}) | {cells[0]} | {cells[1]} |\n"
            out += "\n"
    (ROOT / "docs/flink-map.md").write_text(out.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
