/** Tests of how a command's end is told. */
import { assertEquals } from "@std/assert";
import type { Outcome } from "../../src/app/outcome.ts";
import { toOutcome, type Used } from "../../src/app/outcome_of.ts";
import { signalNumber } from "../../src/sandbox/mod.ts";

const used = (some: Partial<Used["usage"]> = {}, fullPlaces: readonly string[] = []): Used => ({
  usage: { outOfMemory: 0, pidsRefused: 0, peakMemoryBytes: null, ...some },
  fullPlaces,
});
const exited = (status: number) => ({ status, signal: null });
const killed = (name: string) => ({ status: null, signal: signalNumber(name as "SIGKILL") });

const outcome = (kind: Outcome["kind"], rest: Partial<Outcome> = {}): Outcome => ({
  kind,
  code: null,
  signal: null,
  reached: [],
  ...rest,
});

Deno.test("toOutcome() tells an exit by its code, a signal by its name", () => {
  assertEquals(toOutcome(exited(0), null, used()), outcome("exited", { code: 0 }));
  assertEquals(toOutcome(exited(255), null, used()), outcome("exited", { code: 255 }));
  for (const signal of ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGSYS"]) {
    assertEquals(toOutcome(killed(signal), null, used()), outcome("signaled", { signal }));
  }
});

Deno.test("toOutcome() names memory as the cause only of a kill", () => {
  const short = used({ outOfMemory: 1 });
  const reached = ["outOfMemory"] as const;
  const signal = "SIGKILL";
  assertEquals(toOutcome(killed(signal), null, short), outcome("outOfMemory", { signal, reached }));
  assertEquals(toOutcome(exited(1), null, short), outcome("exited", { code: 1, reached }));
  assertEquals(
    toOutcome(killed("SIGABRT"), null, short),
    outcome("signaled", { signal: "SIGABRT", reached }),
  );
});

Deno.test("toOutcome() names limits that processes are told of by a signal, through a shell too", () => {
  const limits = { SIGXCPU: "cpuTimeLimit", SIGXFSZ: "fileSizeLimit" } as const;
  for (const [signal, kind] of Object.entries(limits)) {
    const reached = [kind];
    assertEquals(toOutcome(killed(signal), null, used()), outcome(kind, { signal, reached }));
    const code = 128 + signalNumber(signal as "SIGXCPU");
    assertEquals(toOutcome(exited(code), null, used()), outcome("exited", { code, reached }));
  }
});

Deno.test("toOutcome() names every limit that was reached, each once", () => {
  const places = ["/", "/tmp", "/run", "/dev/shm"];
  assertEquals(toOutcome(exited(1), null, used({ outOfMemory: 2, pidsRefused: 3 }, places)), {
    kind: "exited",
    code: 1,
    signal: null,
    reached: ["outOfMemory", "pidsLimit", "diskFull", "tmpFull", "shmFull"],
  });
});

Deno.test("toOutcome() names what was reached before a time-out, and has no code then", () => {
  const reached = ["pidsLimit"] as const;
  const bomb = used({ pidsRefused: 9 });
  assertEquals(toOutcome(killed("SIGKILL"), "timedOut", used()), outcome("timedOut"));
  assertEquals(toOutcome(exited(0), "timedOut", bomb), outcome("timedOut", { reached }));
});

Deno.test("toOutcome() tells of too much output as of a kill", () => {
  assertEquals(
    toOutcome(killed("SIGKILL"), "outputLimit", used({}, ["/tmp"])),
    outcome("outputLimit", { signal: "SIGKILL", reached: ["outputLimit", "tmpFull"] }),
  );
});
