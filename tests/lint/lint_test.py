#!/usr/bin/env python3
"""Each rule of the lint can fail, and does not fail where it should not."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
from lint import Lint, read_rooms  # noqa: E402

ROOMS = read_rooms("""
runtime: base metrics buffer task operators
network: rpc wire transport on runtime
state: keyed channel on runtime
engine: config graph jobmanager rest on runtime network state  # the real table is rooms.txt
""")
HEADER = "#pragma once\n"


class LintTest(unittest.TestCase):
    def errors(self, files, headers_alone=False):
        """The broken rules, as RULE names, of a checkout with these files."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                (Path(root) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(root) / path).write_text(text)
            lint = Lint(root, ROOMS)
            lint.check()
            if headers_alone:
                lint.check_headers_alone()
            self.warnings = lint.warnings
            return [error.split(": ")[1] for error in lint.errors]

    def assert_breaks(self, rule, path, text):
        self.assertEqual(self.errors({path: text}), [rule], f"{path}: {text!r}")

    def assert_clean(self, path, text):
        self.assertEqual(self.errors({path: text}), [], f"{path}: {text!r}")

    def test_a_room_includes_only_rooms_below_it(self):
        self.assert_breaks("layering", "runtime/buffer/src/a.cc", '#include "weir/task/x.h"\n')
        self.assert_breaks("layering", "runtime/base/src/a.cc", '#include "weir/metrics/x.h"\n')
        self.assert_breaks("layering", "runtime/task/src/a.cc", '#include "weir/config/x.h"\n')
        self.assert_breaks("layering", "network/wire/src/a.cc", '#include "weir/keyed/x.h"\n')
        self.assert_breaks("layering", "state/keyed/src/a.cc", '#include "weir/wire/x.h"\n')
        self.assert_breaks("layering", "network/rpc/src/a.cc", '#include "weir/transport/x.h"\n')
        self.assert_breaks("layering", "engine/graph/src/a.cc", '#include "weir/jobmanager/x.h"\n')
        self.assert_clean("engine/jobmanager/src/a.cc", '#include "weir/graph/x.h"\n#include "weir/rpc/x.h"\n#include "weir/keyed/x.h"\n')
        self.assert_clean("state/channel/src/a.cc", '#include "weir/operators/x.h"\n#include "weir/keyed/x.h"\n')
        self.assert_clean("tests/unit/base/a.cc", '#include "weir/operators/x.h"\n')

    def test_only_rooms_of_the_table_exist(self):
        self.assert_breaks("layering", "runtime/attic/src/a.cc", "int x;\n")
        self.assert_breaks("layering", "runtime/keyed/src/a.cc", "int x;\n")
        self.assert_breaks("layering", "tests/unit/a.cc", '#include "weir/attic/x.h"\n')

    def test_includes_do_not_climb(self):
        self.assert_breaks("include-path", "runtime/task/src/a.cc", '#include "../buffer/x.h"\n')

    def test_the_own_header_comes_first(self):
        header = {"runtime/task/include/weir/task/a.h": HEADER, "runtime/base/include/weir/base/b.h": HEADER}
        wrong = '#include "weir/base/b.h"\n#include "weir/task/a.h"\n'
        self.assertEqual(self.errors({**header, "runtime/task/src/a.cc": wrong}), ["own-header-first"])
        self.assertEqual(self.errors({**header, "runtime/task/src/a.cc": '#include "weir/task/a.h"\n'}), [])

    def test_headers_have_a_guard(self):
        self.assert_breaks("pragma-once", "runtime/task/src/a.h", "int x;\n")

    def test_lines_and_files_end(self):
        self.assert_breaks("line-length", "runtime/task/src/a.cc", "// " + "x" * 138 + "\n")
        self.assert_clean("runtime/task/src/a.cc", "// " + "ü" * 137 + "\n")
        self.assert_breaks("file-length", "runtime/task/src/a.cc", "int x;\n" * 601)
        self.assert_clean("runtime/task/src/a.cc", "int x;\n" * 451)
        self.assertEqual(len(self.warnings), 1)

    def test_only_executors_wait_and_start_threads(self):
        for rule, text in [("sleep", "std::this_thread::sleep_for(x);"), ("thread", "std::thread t(f);"),
                           ("thread", "std::condition_variable c;"), ("clock", "auto t = std::chrono::steady_clock::now();"),
                           ("clock", "std::chrono::system_clock::now();"), ("thread-local", "thread_local int x;"),
                           ("mutex", "std::mutex m;")]:
            self.assert_breaks(rule, "runtime/task/src/a.cc", text + "\n")
        self.assert_clean("runtime/base/src/a.cc", "std::thread t; std::condition_variable c; std::chrono::steady_clock::now();\n")
        self.assert_breaks("sleep", "runtime/base/src/a.cc", "std::this_thread::sleep_for(x);\n")
        self.assert_breaks("sleep", "tests/unit/task/a.cc", "std::this_thread::sleep_for(x);\n")
        self.assert_breaks("thread", "tests/unit/task/a.cc", "std::thread t(f);\n")
        self.assert_breaks("fence", "runtime/base/src/a.cc", "std::atomic_thread_fence(x);\n")

    def test_comments_and_strings_are_not_code(self):
        self.assert_clean("runtime/task/src/a.cc", '// never std::thread\n/* nor\n std::mutex */ auto s = "a \\" steady_clock";\n')
        self.assert_breaks("thread", "runtime/task/src/a.cc", "/* a */ std::thread t;\n")
        self.assert_breaks("thread", "runtime/task/src/a.cc", 'f("//"); std::thread t;\n')

    def test_an_exemption_needs_a_reason(self):
        self.assert_clean("tests/unit/task/a.cc", "std::thread t;  // lint: allow thread, two real threads race here\n")
        self.assert_breaks("thread", "tests/unit/task/a.cc", "std::thread t;  // lint: allow thread\n")
        self.assert_breaks("thread", "tests/unit/task/a.cc", "std::thread t;  // lint: allow clock, other rule\n")

    def test_heavy_headers_stay_out_of_public_ones(self):
        for include in ["boost/asio.hpp", "boost/beast/http.hpp", "nlohmann/json.hpp", "yaml-cpp/yaml.h", "spdlog/spdlog.h"]:
            self.assert_breaks("heavy-include", "engine/rest/include/weir/rest/a.h", f"{HEADER}#include <{include}>\n")
            self.assert_clean("engine/rest/src/a.cc", f"#include <{include}>\n")
        for include in ["rocksdb/db.h", "yaml-cpp/yaml.h", "boost/beast/http.hpp"]:
            self.assert_breaks("ground-floor", "runtime/task/src/a.cc", f"#include <{include}>\n")

    def test_headers_import_no_namespace(self):
        self.assert_breaks("using-namespace", "runtime/task/src/a.h", HEADER + "using namespace std;\n")
        self.assert_clean("tests/unit/task/a.h", HEADER + "using namespace std::chrono_literals;\n")

    def test_nothing_is_left_unfinished_or_switched_off(self):
        for word in ["TODO", "FIXME", "XXX", "HACK"]:
            self.assert_breaks("unfinished", "runtime/task/src/a.cc", f"// {word}: later\n")
            self.assert_breaks("unfinished", "docs/a.md", f"{word} later\n")
        self.assert_breaks("disabled-test", "tests/unit/task/a.cc", "TEST(A, DISABLED_B) {}\n")
        self.assert_breaks("silent-skip", "tests/unit/task/a.cc", "GTEST_SKIP();\n")
        self.assert_clean("tests/unit/task/a.cc", 'GTEST_SKIP() << "no disk";\n')

    def test_no_path_of_one_machine(self):
        for text in ["see /work/x", "/root/x", "/home/me/x", "/tmp/bash_jobs"]:
            self.assert_breaks("machine-path", "docs/a.md", text + "\n")
        self.assert_clean("docs/a.md", "network/work/x, https://example.org/home/x, /tmp/x\n")

    def test_captured_files_are_left_alone(self):
        self.assert_clean("tests/golden/logs/a.txt", "TODO /root/x\n")

    def test_headers_compile_alone(self):
        good = {"runtime/base/include/weir/base/good.h": HEADER + "#include <string>\nstd::string f();\n"}
        bad = {"runtime/base/include/weir/base/bad.h": HEADER + "std::string f();\n"}
        self.assertEqual(self.errors(good, headers_alone=True), [])
        self.assertEqual(self.errors({**good, **bad}, headers_alone=True), ["self-contained"])


if __name__ == "__main__":
    unittest.main()
