#!/usr/bin/env python3
"""What the mutation runner takes for caught, and which patches it refuses."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
from mutate import Patch, verdict  # noqa: E402

RUN = "[ RUN      ] Mailbox.Orders\n"
HEADER = "# Bug: b\n# Invariant: B3\n# Test: base_test\n"


class MutateTest(unittest.TestCase):
    def test_a_green_run_means_that_the_bug_survived(self):
        self.assertEqual(verdict(0, RUN + "[  PASSED  ] 1 test.\n"), (False, "SURVIVED", ""))

    def test_a_failed_test_is_named_with_its_last_seed(self):
        self.assertEqual(verdict(1, RUN + "seed 3\nseed 4: lost\n[  FAILED  ] Mailbox.Orders (0 ms)\n"), (True, "Mailbox.Orders", "4"))
        self.assertEqual(verdict(1, RUN + "[  FAILED  ] A/0.B, where TypeParam = int (0 ms)\n"), (True, "A/0.B", ""))

    def test_a_hang_and_an_abort_name_the_test_that_ran(self):
        self.assertEqual(verdict(None, RUN), (True, "Mailbox.Orders (timeout)", ""))
        self.assertEqual(verdict(-6, RUN + "check failed\n"), (True, "Mailbox.Orders (aborted)", ""))

    def patch(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.patch"
            path.write_text(text)
            patch = Patch(path)
            return patch, patch.problem()

    def test_the_header_is_read(self):
        patch, _ = self.patch(HEADER + "# Filter: --gtest_filter=A.*\n# Seeds: 500\n# Timeout: 7\n")
        self.assertEqual((patch.test, patch.filter, patch.seeds, patch.timeout), ("base_test", "A.*", "500", 7))

    def test_a_patch_says_what_it_breaks_and_applies(self):
        self.assertIn("lacks Invariant", self.patch("# Bug: b\n# Test: base_test\n")[1])
        self.assertIn("no test binary nobody_test", self.patch(HEADER.replace("base_test", "nobody_test"))[1])
        diff = "diff --git a/dev b/dev\n--- a/dev\n+++ b/dev\n@@ -1 +1 @@\n-no such line\n+x\n"
        self.assertIn("does not apply", self.patch(HEADER + diff)[1])


if __name__ == "__main__":
    unittest.main()
