/** Tests of what the kernel's account of pressure is read as. */
import { assertEquals } from "@std/assert";
import { parsePressure, Pressure } from "../../src/budget/pressure.ts";
import { tempDir } from "../support/temp_dir.ts";

const account = (total: number) =>
  `some avg10=1.77 avg60=1.93 avg300=1.68 total=${total}\n` +
  "full avg10=1.10 avg60=1.31 avg300=1.17 total=7\n";

Deno.test("parsePressure() reads the time in which some task waited", () => {
  assertEquals(parsePressure(account(53660950)), 53660950);
  assertEquals(parsePressure(""), null);
  assertEquals(parsePressure("full avg10=0.00 total=1"), null);
});

Deno.test("Pressure gives the share of time since the last look", () => {
  using dir = tempDir();
  const file = `${dir.path}/io`;
  Deno.writeTextFileSync(file, account(0));
  const pressure = new Pressure(file);
  assertEquals([pressure.isKnown, pressure.take()], [true, 0]);
  Deno.writeTextFileSync(file, account(1e12));
  assertEquals(pressure.take(), 1);
});

Deno.test("Pressure is that for which most was waited", () => {
  using dir = tempDir();
  const files = ["io", "cpu"].map((name) => `${dir.path}/${name}`);
  for (const file of files) Deno.writeTextFileSync(file, account(0));
  const pressure = new Pressure(...files, "/proc/no/such");
  assertEquals([pressure.isKnown, pressure.take()], [true, 0]);
  Deno.writeTextFileSync(files[1]!, account(1e12));
  assertEquals([pressure.take(), pressure.take()], [1, 0]);
});

Deno.test("Pressure is unknown where the kernel does not tell", () => {
  const pressure = new Pressure("/proc/no/such");
  assertEquals([pressure.isKnown, pressure.take()], [false, null]);
});
