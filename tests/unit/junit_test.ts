/** Tests of the counts behind the closing line of `./dev test`. */
import { assertEquals } from "@std/assert";
import { countJunit, formatCounts, NO_TESTS } from "../../tools/junit.ts";

Deno.test("countJunit() counts passed, failed and skipped tests", () => {
  const report = `<testsuites name="deno test" tests="3" failures="1" errors="0">
    <testsuite name="a" tests="3" disabled="1" errors="0" failures="1">
      <testcase name="names may say &lt;failure&gt;"></testcase>
      <testcase name="b"><failure message="m">text</failure></testcase>
      <testcase name="c"><skipped/></testcase>
    </testsuite>
  </testsuites>`;
  assertEquals(countJunit(report), { passed: 1, failed: 1, skipped: 1 });
});

Deno.test("countJunit() counts nothing in a report that was never written", () => {
  assertEquals(countJunit(""), NO_TESTS);
});

Deno.test("formatCounts() names the skipped tests only if there are any", () => {
  assertEquals(formatCounts({ passed: 2, failed: 0, skipped: 0 }), "2 passed, 0 failed");
  assertEquals(formatCounts({ passed: 2, failed: 1, skipped: 3 }), "2 passed, 1 failed, 3 skipped");
});
