import { assertEquals } from "@std/assert";
import { countPassed, namesBut, toVerdicts } from "../../../demo/verdict.ts";

const OUTPUT = `
PASSED tests/test_a.py::test_one
PASSED tests/test_a.py::test_size[args58-1 Byte]
FAILED tests/test_a.py::test_size[args59-1 Byte] - AssertionError: PASSED it is not
FAILED tests/test_a.py::test_two
ERROR tests/test_b.py - ImportError
XFAIL tests/test_c.py::test_known - see the issue
SKIPPED [2] tests/test_c.py:3: not here
`;

Deno.test("toVerdicts() finds names that hold spaces, with and without a message", () => {
  const ids = ["tests/test_a.py::test_size[args58-1 Byte]", "tests/test_a.py::test_two"];
  const failed = "tests/test_a.py::test_size[args59-1 Byte]";
  assertEquals(
    [...toVerdicts(OUTPUT, [...ids, failed, "tests/test_b.py"]).values()],
    ["passed", "failed", "failed", "error"],
  );
});

Deno.test("toVerdicts() says that a test which did not run is missing", () => {
  const id = "tests/test_a.py::test_on";
  assertEquals(toVerdicts(OUTPUT, [id]), new Map([[id, "missing" as const]]));
});

Deno.test("countPassed() counts expected failures as passed, and no message", () => {
  assertEquals(countPassed(OUTPUT), 3);
});

Deno.test("namesBut() names each test with its verdict", () => {
  const verdicts = toVerdicts(OUTPUT, ["tests/test_a.py::test_one", "tests/test_a.py::test_two"]);
  assertEquals(namesBut("passed", verdicts), ["tests/test_a.py::test_two failed"]);
});
