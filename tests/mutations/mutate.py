#!/usr/bin/env python3
"""Seeded bugs: applies each tests/mutations/*.patch to a scratch copy, builds one test and shows which test catches the bug.

usage: mutate.py [NAME ...]    runs the patches whose name contains one of NAME (all without)
       mutate.py --check       only checks that each patch still applies and names what it must
       mutate.py --table       prints the table of docs/testing.md, from the last run of each patch here

A patch starts with these lines, then comes the diff (git diff):
    # Bug: urgent mail waits behind normal mail          what a careless change could do
    # Invariant: B3                                      what it breaks; `-` where the list has no name for it
    # Test: base_test                                    the test binary that must catch it
    # Filter: Mailbox.*                                  optional, which tests of it (--gtest_filter)
    # Seeds: 500                                         optional, WEIR_SEEDS of the run
    # Timeout: 60                                        optional, seconds; a hang counts as caught

The scratch copy is build/mutate/tree. A result is reused while neither the patch nor any source file has changed. Exits 1 if a
mutation survives, does not apply or does not compile, or if the test fails without it.
"""
import argparse
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
    """Makes TREE equal to the checkout, leaving untouched what is equal, so that little is compiled again. Returns its hash."""
    digest = hashlib.sha256()
    wanted = set(files)
    for path in files:
        data, target = (ROOT / path).read_bytes(), TREE / path
        digest.update(path.encode() + b"\0" + hashlib.sha256(data).digest())
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)
    for folder, folders, names in os.walk(TREE):
        if Path(folder) == TREE and "build" in folders:
            folders.remove("build")
        for present in (Path(folder) / name for name in names):
            if str(present.relative_to(TREE)) not in wanted:
                present.unlink()
    return digest.hexdigest()


def build(target):
    """The compiler's first complaint, or an empty string."""
    if not (TREE / "build/release/build.ninja").exists():
        configured = subprocess.run(["cmake", "--preset", "release", "-DWEIR_BUILD_BENCHMARKS=OFF"], cwd=TREE, capture_output=True,
                                    text=True, check=False)
        if configured.returncode != 0:
            return "cmake: " + configured.stderr.strip()
    built = subprocess.run(["cmake", "--build", "--preset", "release", "--target", target], cwd=TREE, capture_output=True, text=True,
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


def try_patch(patch, cache, tree_hash, healthy):
    key = hashlib.sha256(patch.text.encode() + tree_hash.encode() + Path(__file__).read_bytes()).hexdigest()
    if key in cache:
        return cache[key] | {"cached": True}
    start = time.monotonic()
    result = {"key": key, "ok": False, "by": "", "seed": "", "seconds": 0.0}
    base = (patch.test, patch.filter, patch.seeds)
    if base not in healthy:  # a mutant is only caught by a test that passes without it, and that runs at all
        complaint = build(patch.test)
        code, output, _ = (1, complaint, 0) if complaint else run(patch)
        if not complaint and code == 0 and re.search(r"\[  PASSED  \] [1-9]", output):
            healthy[base] = ""
        else:
            healthy[base] = complaint or ("no test matches the filter" if code == 0 else "the test fails without the mutation")
    if healthy[base]:
        return result | {"by": healthy[base]}
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

    SCRATCH.mkdir(parents=True, exist_ok=True)
    store = SCRATCH / "results.json"
    cache = json.loads(store.read_text()) if store.exists() else {}
    tree_hash = sync_tree(source_files())
    healthy, rows = {}, []
    for number, patch in enumerate((p for p in patches if p.name not in problems), 1):
        result = try_patch(patch, cache, tree_hash, healthy)
        rows.append((patch, result))
        if result["ok"]:
            cache[result["key"]] = result
            store.write_text(json.dumps(cache, indent=1))
        print(f"[{number}/{len(patches) - len(problems)}] {patch.name}: {result['by']}", flush=True)
    print_table(rows)
    survivors = [patch.name for patch, result in rows if not result["ok"]] + list(problems)
    print(f"{len(rows) - sum(not r['ok'] for _, r in rows)} passed, {len(survivors)} failed")
    return 1 if survivors else 0


def print_markdown(patches):
    print("| mutation | bug | test | caught by | seed |\n|---|---|---|---|---|")
    for patch in patches:
        log = SCRATCH / f"{patch.name}.log"
        by, seed = "not run here", ""
        if log.exists():
            output = log.read_text()
            _, by, seed = verdict(0 if "[  PASSED  ]" in output and "[  FAILED  ]" not in output else 1, output)
        cells = (patch.name, patch.fields.get("Bug", ""), patch.test, by, seed or "-")
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
