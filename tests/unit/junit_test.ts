/** Tests of the counts behind the closing line of `./dev test`. */
import { assertEquals } from "@std/assert";
import { countJunit, formatCounts, listFailures, NO_TESTS } from "../../tools/junit.ts";

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

Deno.test("listFailures() tells where, what, and the first lines of why", () => {
  const report = `<testsuite name="a" tests="3" disabled="0" errors="0" failures="2">
      <testcase name="fine" classname="./a_test.ts" time="0.001" line="1" col="6">
      </testcase>
      <testcase name="a &lt; b &amp;amp; c" classname="./a_test.ts" time="0.001" line="2" col="6">
          <failure message="Uncaught &lt;b&gt;">Error: one\n\n  two &gt; ${
    "\nmore".repeat(20)
  }</failure>
      </testcase>
      <testcase name="last" classname="./b_test.ts" time="0.001" line="30" col="6">
          <failure message="m">text</failure>
      </testcase>
    </testsuite>`;
  assertEquals(listFailures(report), [
    `./a_test.ts:2: a < b &amp; c\n    Error: one\n      two > ${"\n    more".repeat(10)}`,
    "./b_test.ts:30: last\n    text",
  ]);
  assertEquals(listFailures(""), []);
});

Deno.test("formatCounts() names the skipped tests only if there are any", () => {
  assertEquals(formatCounts({ passed: 2, failed: 0, skipped: 0 }), "2 passed, 0 failed");
  assertEquals(formatCounts({ passed: 2, failed: 1, skipped: 3 }), "2 passed, 1 failed, 3 skipped");
});
