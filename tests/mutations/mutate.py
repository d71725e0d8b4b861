#!/usr/bin/env python3
"""Seeded bugs: applies each tests/mutations/*.patch to a scratch copy, builds one test and shows which test catches the bug.

usage: mutate.py [NAME ...]    runs the patches whose name contains one of NAME (all without)
       mutate.py --check       only checks that each patch still applies and names what it must
       mutate.py --table       prints the table of docs/mutations.md, from the last run of each patch here

A patch starts with these lines, then comes the diff (git diff):
    # Bug: urgent mail waits behind normal mail          what a careless change could do
    # Invariant: B3 (M12)                                what it breaks, and which bug of the list it is; `-` where it has no name there
    # Test: base_test                                    the test binary that must catch it
    # Filter: Mailbox.*                                  optional, which tests of it (--gtest_filter)
    # Seeds: 500                                         optional, WEIR_SEEDS of the run
    # Timeout: 60                                        optional, seconds; a hang counts as caught

The scratch copy is build/mutate/tree. A result is reused while the change and the way it is run are the same, and so are the test
binary without it and the golden files: an unrelated change of the tree costs a build, no run. Exits 1 if a mutation survives, does not
apply or does not compile, or if the test fails without it.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATCHES = ROOT / "tests" / "mutations"
SCRATCH = ROOT / "build" / "mutate"
TREE = SCRATCH / "tree"
RESULTS = SCRATCH / "results.json"
HEADER = re.compile(r"# (Bug|Invariant|Test|Filter|Seeds|Timeout): (.+)")
MEMORY_LIMIT = 12 << 30  # a mutant may allocate without end


class Patch:
    def __init__(self, path):
        self.path, self.name, self.text = path, path.stem, path.read_text()
        self.fields = dict(match.groups() for line in self.text.splitlines() if (match := HEADER.fullmatch(line.strip())))
        self.test = self.fields.get("Test", "")
        self.filter = self.fields.get("Filter", "*").removeprefix("--gtest_filter=")
        self.seeds = self.fields.get("Seeds", "")
        self.timeout = int(self.fields.get("Timeout", "120"))

    def key(self, binary_hash):
        """What a result depends on. Words in the header are no part of it."""
        change = self.text[self.text.find("diff --git"):]
        parts = [change, self.test, self.filter, self.seeds, str(self.timeout), binary_hash]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def problem(self):
        """Why this patch cannot be used, or an empty string."""
        missing = [field for field in ("Bug", "Invariant", "Test") if field not in self.fields]
        if missing:
            return f"its header lacks {', '.join(missing)}"
        if not re.search(rf"weir_test\({re.escape(self.test)}\b", (ROOT / "tests" / "CMakeLists.txt").read_text()):
            return f"there is no test binary {self.test}"
        applied = git_apply(ROOT, self.path, "--check")
        return "" if applied.returncode == 0 else f"it does not apply: {applied.stderr.strip().splitlines()[0]}"


def git_apply(folder, patch, *options):
    # The ceiling hides the repository, so that git takes paths as relative to the folder, also in the scratch copy inside build/.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    if folder == ROOT:
        environment.pop("GIT_CEILING_DIRECTORIES")
    return subprocess.run(["git", "apply", *options, str(patch)], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def source_files():
    """Files that decide what a test does: everything but documents, pages and the patches themselves."""
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=True)
    return sorted(path for path in git.stdout.split("\0")
                  if path and (ROOT / path).is_file() and not path.startswith(("docs/", "tests/mutations/", ".ci/")))


def sync_tree(files):
    """Makes TREE equal to the checkout, leaving untouched what is equal: little is compiled again. Returns a hash of the golden files."""
    golden = hashlib.sha256()  # read by tests while they run, so no part of a binary
    wanted = set(files)
    for path in files:
        data, target = (ROOT / path).read_bytes(), TREE / path
        if path.startswith("tests/golden/"):
            golden.update(path.encode() + b"\0" + hashlib.sha256(data).digest())
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)
    for folder, folders, names in os.walk(TREE):
        if Path(folder) == TREE and "build" in folders:
            folders.remove("build")
        for present in (Path(folder) / name for name in names):
            if str(present.relative_to(TREE)) not in wanted:
                present.unlink()
    return golden.hexdigest()


def build(*targets):
    """The compiler's first complaint, or an empty string."""
    if not (TREE / "build/release/build.ninja").exists():
        configured = subprocess.run(["cmake", "--preset", "release", "-DWEIR_BUILD_BENCHMARKS=OFF"], cwd=TREE, capture_output=True,
                                    text=True, check=False)
        if configured.returncode != 0:
            return "cmake: " + configured.stderr.strip()
    built = subprocess.run(["cmake", "--build", "--preset", "release", "--target", *targets], cwd=TREE, capture_output=True, text=True,
                           check=False)
    if built.returncode == 0:
        return ""
    return next((line for line in built.stdout.splitlines() if re.search(r"\berror: ", line)), built.stdout.strip())[-160:]


def run(patch):
    """(exit code or None for a hang, output, seconds) of the test binary, up to its first failure."""
    environment = {**os.environ, **({"WEIR_SEEDS": patch.seeds} if patch.seeds else {})}
    start = time.monotonic()
    process = subprocess.Popen([TREE / "build/release/bin" / patch.test, f"--gtest_filter={patch.filter}", "--gtest_fail_fast"],
                               cwd=SCRATCH, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT)))
    try:
        output, _ = process.communicate(timeout=patch.timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        code = None
    return code, output, time.monotonic() - start


def verdict(code, output):
    """(caught, by what, seed) from the run of a mutant."""
    seeds = re.findall(r"\bseed[ =:]+(\d+)", output)
    seed = seeds[-1] if seeds else ""
    last = re.findall(r"\[ RUN      \] (\S+)", output)
    where = last[-1] if last else "start"
    failed = re.findall(r"\[  FAILED  \] (\S+?),? ", output)
    if code == 0:
        return False, "SURVIVED", ""
    if code is None:
        return True, f"{where} (timeout)", seed
    return True, failed[0] if failed else f"{where} (aborted)", seed


class Unmutated:
    """The tests without any bug: their binaries, and whether they pass. A mutant is caught only by a test that passes without it."""

    def __init__(self, tests, golden_hash):
        self.complaint = build(*tests)
        self.golden_hash, self.passes = golden_hash, {}
        self.hashes = {} if self.complaint else {test: self.hash_of(test) for test in tests}

    def hash_of(self, test):
        return hashlib.sha256((TREE / "build/release/bin" / test).read_bytes() + self.golden_hash.encode()).hexdigest()

    def problem(self, patch):
        run_as = (patch.test, patch.filter, patch.seeds)
        if run_as not in self.passes:
            complaint = build(patch.test)
            code, output, _ = (1, complaint, 0) if complaint else run(patch)
            passed = code == 0 and re.search(r"\[  PASSED  \] [1-9]", output)
            self.passes[run_as] = complaint or ("" if passed else "no test matches the filter" if code == 0 else
                                                "the test fails without the mutation")
        return self.passes[run_as]


def try_patch(patch, unmutated):
    start = time.monotonic()
    result = {"ok": False, "by": "", "seed": "", "seconds": 0.0}
    if problem := unmutated.problem(patch):
        return result | {"by": problem}
    applied = git_apply(TREE, patch.path)
    if applied.returncode != 0:
        return result | {"by": "does not apply: " + applied.stderr.strip().splitlines()[0]}
    try:
        complaint = build(patch.test)
        if complaint:
            return result | {"by": "does not compile: " + complaint}
        code, output, _ = run(patch)
        (SCRATCH / f"{patch.name}.log").write_text(output)
    finally:
        git_apply(TREE, patch.path, "--reverse")
    caught, by, seed = verdict(code, output)
    return result | {"ok": caught, "by": by, "seed": seed, "seconds": round(time.monotonic() - start, 1)}


def main():
    parser = argparse.ArgumentParser(description="Runs the seeded bugs.")
    parser.add_argument("--check", action="store_true", help="only check that the patches apply")
    parser.add_argument("--table", action="store_true", help="only print the last run of each patch as a table in Markdown")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    patches = [Patch(path) for path in sorted(PATCHES.glob("*.patch"))]
    patches = [patch for patch in patches if not arguments.names or any(name in patch.name for name in arguments.names)]
    if not patches:
        print("no mutation matches", file=sys.stderr)
        return 2
    if arguments.table:
        print_markdown(patches)
        return 0
    problems = {patch.name: problem for patch in patches if (problem := patch.problem())}
    for name, problem in problems.items():
        print(f"{name}: {problem}")
    if arguments.check:
        print(f"mutations: {len(patches)} patches, {len(problems)} that cannot be used")
        return 1 if problems else 0

    return run_all([patch for patch in patches if patch.name not in problems], list(problems))


def run_all(patches, unusable):
    SCRATCH.mkdir(parents=True, exist_ok=True)
    unmutated = Unmutated(sorted({patch.test for patch in patches}), sync_tree(source_files()))
    if unmutated.complaint:
        print(f"the tests do not compile: {unmutated.complaint}")
        return 1
    last, rows = last_runs(), []
    for number, patch in enumerate(sorted(patches, key=lambda patch: patch.test), 1):
        key, before = patch.key(unmutated.hashes[patch.test]), last.get(patch.name, {})
        cached = before.get("key") == key and before["ok"]
        result = before if cached else try_patch(patch, unmutated) | {"key": key}
        rows.append((patch, result | {"cached": cached}))
        last[patch.name] = result
        RESULTS.write_text(json.dumps(last, indent=1))
        print(f"[{number}/{len(patches)}] {patch.name}: {result['by']}{' (cached)' if cached else ''}", flush=True)
    print_table(rows)
    survivors = [patch.name for patch, result in rows if not result["ok"]] + unusable
    print(f"{len(rows) - sum(not r['ok'] for _, r in rows)} passed, {len(survivors)} failed")
    return 1 if survivors else 0


def last_runs():
    """By name of the patch: what came of its last run here."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


LEVELS = {"simulation_test": "random jobs", "scenario_test": "known failures", "api_test": "whole jobs", "taskmanager_test": "TaskManagers"}


def print_markdown(patches):
    last = last_runs()
    levels = collections.Counter(LEVELS.get(patch.test, "one room") for patch in patches)
    counts = ", ".join(f"{count} by tests of {level}" if level == "one room" else f"{count} by {level}"
                       for level, count in levels.most_common())
    survivors = [patch.name for patch in patches if not last.get(patch.name, {"ok": True})["ok"]]
    print(f"{len(patches)} seeded bugs: {counts}. {'Not caught: ' + ', '.join(survivors) if survivors else 'All are caught'}.\n")
    print("| mutation | bug | invariant | test | caught by | seed |\n|---|---|---|---|---|---|")
    for patch in patches:
        result = last.get(patch.name, {"by": "not run here", "seed": ""})
        fields = [patch.fields.get(field, "") for field in ("Bug", "Invariant", "Test")]
        cells = [patch.name, *fields, result["by"], result["seed"] or "-"]
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")


def print_table(rows):
    header = ("mutation", "invariant", "caught by", "seed", "time")
    lines = [header] + [(patch.name, patch.fields["Invariant"], result["by"] if result["ok"] else f"NOT CAUGHT: {result['by']}",
                         result["seed"] or "-", "cached" if result.get("cached") else f"{result['seconds']} s") for patch, result in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    print()
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print()


if __name__ == "__main__":
    sys.exit(main())
