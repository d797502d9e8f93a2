/** Tests of the options that harden or loosen a sandbox, and of the steps they come to. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CAP } from "../../ffi/mod.ts";
import { applyHardening, HARDEN_OPTIONS } from "../../src/cli/harden_option.ts";
import { parseOptions } from "../../src/cli/option.ts";
import { UsageError } from "../../src/errors.ts";
import { confine, dropCapabilities } from "../../src/sandbox/harden.ts";
import { CAPABILITIES, USUAL_HARDENING } from "../../src/sandbox/mod.ts";
import { showStep } from "../../src/sandbox/step.ts";

const parse = (...argv: string[]) =>
  applyHardening(USUAL_HARDENING, parseOptions(HARDEN_OPTIONS, argv).options);
const kept = (...argv: string[]) => parse(...argv).capabilities;

Deno.test("applyHardening() changes nothing where nothing is said", () => {
  assertEquals(parse(), USUAL_HARDENING);
});

Deno.test("applyHardening() reads a capability in every spelling", () => {
  for (const name of ["chown", "CHOWN", "cap_chown", "CAP_CHOWN"]) {
    assertEquals(
      kept("--cap-drop", name),
      CAPABILITIES.filter((it) => it !== "CAP_CHOWN"),
    );
  }
});

Deno.test("applyHardening() drops first, then adds, in the order of the whole set", () => {
  assertEquals(kept("--cap-drop", "all"), []);
  assertEquals(kept("--cap-add", "setuid", "--cap-drop", "all", "--cap-add", "chown"), [
    "CAP_CHOWN",
    "CAP_SETUID",
  ]);
  assertEquals(kept("--cap-drop", "all", "--cap-add", "all"), CAPABILITIES);
});

Deno.test("applyHardening() allows what is said, and keeps what a spec allows", () => {
  const { allowsSetuid, allowsNesting } = parse("--allow-setuid");
  assertEquals([allowsSetuid, allowsNesting], [true, false]);
  const nesting = { ...USUAL_HARDENING, allowsNesting: true };
  assertEquals(applyHardening(nesting, parseOptions(HARDEN_OPTIONS, []).options), nesting);
});

Deno.test("applyHardening() refuses a capability that no sandbox keeps, and names those there are", () => {
  for (const name of ["sys_admin", "CAP_SYS_PTRACE", "", "chow", "all,chown", "net_admin"]) {
    for (const option of ["--cap-add", "--cap-drop"]) {
      const { message } = assertThrows(() => parse(`${option}=${name}`), UsageError);
      assertStringIncludes(message, `Cannot read the capability "${name}": none that can be kept.`);
      assertStringIncludes(message, "Give all, or one of CHOWN DAC_OVERRIDE FOWNER ");
    }
  }
});

Deno.test("no capability that reaches the host's kernel can be kept", () => {
  const dangerous = ["SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "NET_ADMIN", "MKNOD"];
  assertEquals(CAPABILITIES.filter((name) => dangerous.includes(name.slice(4))), []);
});

Deno.test("dropCapabilities() drops all but those kept, up to the kernel's last", () => {
  const steps = dropCapabilities(40, ["CAP_KILL", "CAP_SETUID"]).map(showStep);
  assertEquals(steps.length, 39);
  assertEquals(steps.filter((text) => text.includes(`DROP, ${CAP.CAP_KILL},`)), []);
  assertEquals(dropCapabilities(40, []).length, 41);
  assertEquals(dropCapabilities(1, CAPABILITIES).map(showStep), []);
});

Deno.test("confine() forbids new privileges before the filter, unless set-uid programs are allowed", () => {
  const names = (allowsSetuid: boolean) =>
    confine({ allowsSetuid, allowsNesting: false }).map(({ name }) => name);
  assertEquals(names(false), ["forbid new privileges", "install the seccomp filter"]);
  assertEquals(names(true), ["install the seccomp filter"]);
});
