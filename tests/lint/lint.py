#!/usr/bin/env python3
"""Rules of the house that a compiler does not check: layering, banned words, line and file lengths.

usage: lint.py [--full] [--fix] [--root DIR] [FOLDER ...]

--full also compiles each header of the rooms alone (with ccache, where there is one). --fix first wraps the C++ lines that are too
long, and no others, with clang-format, which nothing else needs. With folders only their files are wrapped and reported. Prints
FILE:LINE: RULE: what is wrong and what to do; exits 1 if a rule is broken. Warnings do not fail. A line may be exempted where the rule's purpose does not apply:
    std::thread helper(run);  // lint: allow thread, this is the test of the executor itself
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CPP = {".h", ".cc", ".hpp", ".cpp"}
CODE = CPP | {".py", ".ts", ".tsx", ".css", ".cmake", ".sh"}
TEXT = CODE | {".md", ".txt", ".json", ".yaml", ".yml", ""}
# Captured or borrowed content, and the lint itself, which has to name what it bans.
SKIPPED = ("tests/golden/", "tests/lint/", "examples/data/", "LICENSE")
MAX_LINE, WARN_FILE, MAX_FILE = 140, 450, 600


class Pattern:
    """A regular expression that must not match a line of the files that `applies` picks. Comments count only with `comments`."""

    def __init__(self, rule, pattern, advice, applies, comments=False):
        self.rule, self.pattern, self.advice, self.applies, self.comments = rule, re.compile(pattern), advice, applies, comments


def is_cpp(path):
    return Path(path).suffix in CPP


def waits_only_through_executors(path):
    """All C++ but the executors, their tests, and the programs that measure the bare machine."""
    return is_cpp(path) and not path.startswith(("runtime/base/src/", "tests/unit/base/", "bench/"))


def is_public_header(path):
    return "/include/" in path


def is_runtime(path):
    return is_cpp(path) and path.startswith("runtime/")


PATTERNS = [
    Pattern("sleep", r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", "wait through the ExecutionContext, or in a test for a condition",
            lambda path: is_cpp(path) and not path.startswith("bench/")),
    Pattern("thread", r"\bstd::(thread|jthread|async|condition_variable\w*)\b", "only the executors start threads and wait: use an actor",
            waits_only_through_executors),
    Pattern("clock", r"\b(system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday)\b", "use weir::Clock",
            waits_only_through_executors),
    Pattern("thread-local", r"\bthread_local\b", "state belongs to the actor: fibers of many actors share a thread",
            waits_only_through_executors),
    Pattern("fence", r"\batomic_thread_fence\b", "the thread sanitizer does not see fences: use sequentially consistent operations",
            lambda path: is_cpp(path) and not path.startswith("bench/limits/")),
    Pattern("mutex", r"\bstd::(recursive_|shared_|timed_)?mutex\b", "use weir::Mutex, which knows what a wait may not cross",
            lambda path: waits_only_through_executors(path) and not path.startswith(("runtime/base/", "tests/"))),
    Pattern("heavy-include", r"#include <(boost/(asio|beast)|nlohmann/|yaml-cpp/|spdlog/|rocksdb/|CLI/)", "heavy: include it in a .cc file",
            is_public_header),
    Pattern("ground-floor", r"#include <(boost/beast|yaml-cpp/|rocksdb/|CLI/)", "runtime/ knows no socket, no RocksDB, no YAML",
            is_runtime),
    Pattern("using-namespace", r"^using namespace (?!std::\w*literals)", "name what you use",
            lambda path: path.endswith(".h") and not path.startswith("bench/limits/")),
    Pattern("unfinished", r"\b(TODO|FIXME|XXX|HACK)\b", "finish it, or describe the limit in the docs", lambda path: True, comments=True),
    Pattern("disabled-test", r"\bDISABLED_", "mend the test or delete it", is_cpp),
    Pattern("silent-skip", r"\bGTEST_SKIP\(\)\s*;", "say why: GTEST_SKIP() << \"reason\"", is_cpp),
    Pattern("machine-path", r"(?<![\w.}])/(work|root|home/\w+|Users/\w+)/|/tmp/bash", "a path of one machine", lambda path: True, comments=True),
]


def read_rooms(text):
    """{room: (floor, set of rooms that it may include)} from rooms.txt."""
    rooms, floors = {}, {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        floor, rest = line.split(":")
        own, _, below = rest.partition(" on ")
        allowed = {room for other in below.split() for room in floors[other]}
        for room in own.split():
            allowed = allowed | {room}
            rooms[room] = (floor, allowed)
        floors[floor] = own.split()
    return rooms


# What looks like a comment inside a literal is none, so literals are matched too, and first come wins. A digit separator is no quote.
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\])+\'|//.*|/\*.*?(?:\*/|$)')


def without_comments(lines):
    """The lines with // and /* */ comments and the contents of literals blanked; good enough for code that compiles."""
    inside = False
    for line in lines:
        if inside:
            _, closed, line = line.partition("*/")
            inside = not closed
        if not line.lstrip().startswith("#include"):
            unclosed = False

            def blank(match):
                nonlocal unclosed
                text = match.group(0)
                unclosed = unclosed or text.startswith("/*") and not text.endswith("*/")
                return " " if text.startswith("/") else text[0] + text[-1]

            line = TOKEN.sub(blank, line)
            inside = inside or unclosed
        yield line


class Lint:
    def __init__(self, root, rooms, folders=()):
        self.root, self.rooms, self.folders = Path(root), rooms, tuple(folders)
        self.errors, self.warnings = [], []

    def error(self, path, line, rule, text):
        self.errors.append(f"{path}:{line}: {rule}: {text}")

    def files(self):
        """Every file of the checkout, or of the folders asked for, that is not ignored, as paths relative to the root."""
        git = subprocess.run(["git", "-C", self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, text=True, check=False)
        if git.returncode == 0:
            paths = set(git.stdout.split("\0"))
        else:  # an unpacked archive
            paths = {str(path.relative_to(self.root)) for path in self.root.rglob("*")}
            paths = {path for path in paths if not path.startswith(("build/", ".git/"))}
        return sorted(path for path in paths if path and (self.root / path).is_file() and not path.startswith(SKIPPED)
                      and (not self.folders or path.startswith(self.folders)))

    def check(self):
        for path in self.files():
            if Path(path).suffix not in TEXT:
                continue
            try:
                lines = (self.root / path).read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                continue
            self.check_size(path, lines)
            self.check_patterns(path, lines)
            if is_cpp(path):
                self.check_includes(path, lines)

    def check_size(self, path, lines):
        suffix = Path(path).suffix
        if suffix in CODE or path in ("dev", "CMakeLists.txt"):
            for number, line in enumerate(lines, 1):
                if len(line) > MAX_LINE:
                    self.error(path, number, "line-length", f"{len(line)} characters; at most {MAX_LINE}")
        if suffix in CODE and len(lines) > MAX_FILE:
            self.error(path, len(lines), "file-length", f"{len(lines)} lines; at most {MAX_FILE}: split it by idea")
        elif suffix in CODE and len(lines) > WARN_FILE:
            self.warnings.append(f"{path}: {len(lines)} lines; does it still hold one idea?")

    def check_patterns(self, path, lines):
        code = list(without_comments(lines)) if is_cpp(path) else lines
        for pattern in (p for p in PATTERNS if p.applies(path)):
            for number, (line, text) in enumerate(zip(lines, lines if pattern.comments else code), 1):
                found = pattern.pattern.search(text)
                if found and not re.search(rf"lint: allow {pattern.rule}\b,? \w", line):
                    self.error(path, number, pattern.rule, f"'{found.group(0).strip()}': {pattern.advice}")

    def check_includes(self, path, lines):
        floors = {floor for floor, _ in self.rooms.values()}
        parts = path.split("/")
        room = parts[1] if parts[0] in floors and len(parts) > 2 else None
        if room and (room not in self.rooms or self.rooms[room][0] != parts[0]):
            self.error(path, 1, "layering", f"{parts[0]}/{room} is no room of the house: name it in tests/lint/rooms.txt")
            room = None
        if path.endswith(".h") and "#pragma once" not in lines:
            self.error(path, 1, "pragma-once", "a header starts with #pragma once")
        includes = [(number, match.group(1)) for number, line in enumerate(lines, 1)
                    if (match := re.match(r'\s*#\s*include\s+"([^"]+)"', line))]
        for number, target in includes:
            if ".." in target.split("/"):
                self.error(path, number, "include-path", f'"{target}": include by the name that the room exports, "weir/ROOM/x.h"')
            if not target.startswith("weir/"):
                continue
            other = target.split("/")[1]
            if other not in self.rooms:
                self.error(path, number, "layering", f'"{target}": no such room; the rooms stand in tests/lint/rooms.txt')
            elif room and other not in self.rooms[room][1]:
                self.error(path, number, "layering", f"{room} may not include {other}: it stands above or beside it")
        own = f"weir/{room}/{Path(path).stem}.h"
        if room and path.endswith(".cc") and (self.root / parts[0] / room / "include" / own).exists():
            if not includes or includes[0][1] != own:
                self.error(path, 1, "own-header-first", f'"{own}" comes first, so that it proves to be self-contained')

    def wrap_long_lines(self):
        """Lets clang-format wrap the lines that are too long. False if it is not installed."""
        if not shutil.which("clang-format"):
            return False
        for path in filter(is_cpp, self.files()):
            lines = (self.root / path).read_text(encoding="utf-8").splitlines()
            long = [f"--lines={number}:{number}" for number, line in enumerate(lines, 1) if len(line) > MAX_LINE]
            if long:
                subprocess.run(["clang-format", "-i", *long, path], cwd=self.root, check=True)
        return True

    def check_headers_alone(self):
        """Compiles each header of each room as the only thing in its translation unit."""
        headers = [path for path in self.files() if path.endswith(".h") and path.split("/")[0] in {f for f, _ in self.rooms.values()}]
        folders = sorted({str(self.root / path.split("/include/")[0] / "include") for path in headers if is_public_header(path)})
        compiler = ([shutil.which("ccache")] if shutil.which("ccache") else []) + [os.environ.get("CXX", "g++")]
        out = self.root / "build" / "lint"
        out.mkdir(parents=True, exist_ok=True)

        def compile_alone(path):
            unit = out / (path.replace("/", "_") + ".cc")
            text = f'#include "{self.root / path}"\n'
            if not unit.exists() or unit.read_text() != text:
                unit.write_text(text)
            own = [f"-I{self.root / Path(path).parent}"]
            command = compiler + ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", *own, *(f"-I{f}" for f in folders), "-c", str(unit),
                                  "-o", str(unit.with_suffix(".o"))]
            return path, subprocess.run(command, capture_output=True, text=True, check=False)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, result in pool.map(compile_alone, headers):
                if result.returncode != 0:
                    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr[:200])
                    self.error(path, 1, "self-contained", f"does not compile alone: {first}")
        return len(headers)


def main():
    parser = argparse.ArgumentParser(description="Checks the rules of the house.")
    parser.add_argument("--full", action="store_true", help="also compile each header alone")
    parser.add_argument("--fix", action="store_true", help="first wrap C++ lines that are too long; needs clang-format")
    parser.add_argument("folders", nargs="*", help="folders, or beginnings of paths, from the root")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2])
    arguments = parser.parse_args()
    lint = Lint(arguments.root, read_rooms((Path(arguments.root) / "tests/lint/rooms.txt").read_text()), arguments.folders)
    if arguments.fix and not lint.wrap_long_lines():
        print("clang-format is not installed: apt-get install clang-format", file=sys.stderr)
        return 3
    lint.check()
    headers = f", {lint.check_headers_alone()} headers compiled alone" if arguments.full else ""
    for warning in lint.warnings:
        print(f"warning: {warning}")
    for error in lint.errors:
        print(error)
    print(f"lint: {len(lint.files())} files{headers}, {len(lint.errors)} errors, {len(lint.warnings)} warnings")
    return 1 if lint.errors else 0


if __name__ == "__main__":
    sys.exit(main())
