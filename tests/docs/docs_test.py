#!/usr/bin/env python3
"""What the documents claim and a machine can check.

usage: docs_test.py                       links lead somewhere; files, classes and functions that are named exist; quoted programs are
                                          those of their files
       docs_test.py --first-job PROGRAM   the first job prints what the README says

Prints FILE:LINE: what is wrong; exits 1 if something is.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"This is \[([^\]]+)\]\(\1\):\n\n```cpp\n(.*?)```\n", re.S)
PRINTED = re.compile(r"Sorted \(the order of arrival differs\):\n\n```\n(.*?)```\n", re.S)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:runtime|network|state|engine|tests|bench|examples|docs)/[\w./-]+")
NAME = re.compile(r"[A-Z]\w*[a-z]\w*(?:::\w+)?")


def documents():
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
                         capture_output=True, text=True, check=True)
    return [ROOT / path for path in git.stdout.split("\0") if path and not path.startswith("tests/golden/") and (ROOT / path).exists()]


def anchors(path):
    """Of the headings of a document, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def words_of_the_sources():
    words = set()
    for suffix in ("h", "cc"):
        for path in ROOT.glob(f"*/**/*.{suffix}"):
            if path.relative_to(ROOT).parts[0] != "build":
                words.update(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
    return words


def check(path, words):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT)
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(line):
            if "://" in target:
                continue
            file, _, anchor = target.partition("#")
            found = (path.parent / file).resolve() if file else path
            if not found.exists():
                yield f"{name}:{number}: there is no '{target}'" + ("; run docs/flink_map.py" if name.name == "flink-map.md" else "")
            elif anchor and found.suffix == ".md" and anchor not in anchors(found):
                yield f"{name}:{number}: there is no heading '#{anchor}' in {found.relative_to(ROOT)}"
        for code in CODE.findall(line):
            if PATH.fullmatch(code.rstrip("/")) and not (ROOT / code).exists() and "NAME" not in code:
                yield f"{name}:{number}: there is no file '{code}'"
        if name.name == "architecture.md" or name.parts[:2] == ("docs", "decisions") or name.name == "README.md" and len(name.parts) == 3:
            for code in CODE.findall(line):
                if NAME.fullmatch(code):
                    for word in code.split("::"):
                        if word not in words:
                            yield f"{name}:{number}: no source knows '{word}'"
    for file, program in QUOTED.findall(text):
        if program != (path.parent / file).read_text(encoding="utf-8"):
            yield f"{name}: the program that is quoted is not {file} (any more)"


def first_job(program):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ran = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    if ran.returncode != 0:
        return [f"{program} ends with {ran.returncode}: {ran.stderr}"]
    lines = sorted(ran.stdout.splitlines())
    said = PRINTED.search(readme)
    if not said:
        return ["README.md: it does not say what the first job prints"]
    return [] if said.group(1).splitlines() == lines else ["README.md: the first job prints, sorted:"] + lines


def settings():
    """What the table of keys says of each typed key against whether any source outside of engine/config names its option."""
    declared = {}
    for header in sorted((ROOT / "engine/config/include").rglob("*.h")):
        for name, key in re.findall(r'ConfigOption<[^;{]*?>\s+(k\w+)\{\s*"([^"]+)"', header.read_text(encoding="utf-8")):
            declared[key] = name
    named = set()
    for top in ("engine", "runtime", "network", "state", "examples"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix in (".h", ".cc") and "engine/config/" not in path.as_posix():
                named.update(re.findall(r"\bk[A-Z]\w+", path.read_text(encoding="utf-8")))
    for line in (ROOT / "engine/config/keys.tsv").read_text(encoding="utf-8").splitlines():
        columns = line.split("\t")
        if len(columns) != 8 or columns[0] not in declared:
            continue
        is_read = declared[columns[0]] in named
        if columns[5] in ("used", "1.x") and not is_read:
            yield f"engine/config/keys.tsv: {columns[0]} is said to be used, but nothing reads it: its effect is 'later'"
        if columns[5] == "later" and is_read:
            yield f"engine/config/keys.tsv: {columns[0]} is said to come later, but it is read: its effect is 'used', or '1.x'"


def main():
    if sys.argv[1:2] == ["--first-job"]:
        errors = first_job(sys.argv[2])
    else:
        words = words_of_the_sources()
        errors = [error for path in documents() for error in check(path, words)] + list(settings())
        if not QUOTED.search((ROOT / "README.md").read_text(encoding="utf-8")):
            errors.append("README.md: it quotes no first job")
    print("\n".join(errors) if errors else "docs: nothing to complain about")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
