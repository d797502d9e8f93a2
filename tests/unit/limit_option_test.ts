/** Tests of the options that limit a sandbox. */
import { assertEquals, assertThrows } from "@std/assert";
import { applyLimits, LIMIT_OPTIONS } from "../../src/cli/limit_option.ts";
import { parseOptions } from "../../src/cli/option.ts";
import { DEFAULT_SPEC } from "../../src/app/spec.ts";
import { UsageError } from "../../src/errors.ts";

const usual = DEFAULT_SPEC.limits;
const parse = (...argv: string[]) => applyLimits(usual, parseOptions(LIMIT_OPTIONS, argv).options);
const refusal = (...argv: string[]) => assertThrows(() => parse(...argv), UsageError).message;

Deno.test("applyLimits() changes nothing where nothing is said", () => {
  assertEquals(parse(), usual);
});

Deno.test("applyLimits() reads every option", () => {
  const argv = [
    ...["-m", "512M", "--swap", "1G", "--cpus", "1.5", "--cpu-weight", "200", "--pids", "64"],
    ...["--disk", "10G", "--inodes", "1000", "--nofile", "256", "--fsize", "1G"],
    ...["--tmp-size", "64M", "--shm-size", "8192", "--cpu-time", "1.5", "--output", "4K"],
  ];
  assertEquals(parse(...argv), {
    memoryBytes: 512 * 2 ** 20,
    swapBytes: 2 ** 30,
    cpus: 1.5,
    cpuWeight: 200,
    pids: 64,
    diskBytes: 10 * 2 ** 30,
    inodes: 1000,
    openFiles: 256,
    fileBytes: 2 ** 30,
    tmpBytes: 64 * 2 ** 20,
    shmBytes: 8192,
    cpuTimeMs: 1500,
    outputBytes: 4096,
  });
});

Deno.test("none takes a limit away, and 0 is a limit where it can be one", () => {
  for (const name of Object.keys(LIMIT_OPTIONS)) parse(`--${name}`, "none");
  assertEquals(parse("--pids", "none", "--output", "none").pids, null);
  const { swapBytes, fileBytes, outputBytes } = parse(
    ...["--swap", "0", "--fsize", "0", "--output", "0"],
  );
  assertEquals([swapBytes, fileBytes, outputBytes], [0, 0, 0]);
});

/** Texts that each kind of option refuses. */
const BAD = {
  size: [
    "",
    "x",
    "-1",
    "1",
    "4095",
    "1.5.5M",
    "5X",
    "M",
    " 1M",
    "1M ",
    "1e9",
    "none ",
    "99999999T",
  ],
  sizeOrNothing: ["", "x", "-1", "00", "0K", "5X"],
  whole: ["", "x", "-1", "1.5", "1e3", "0x10", "1,000", " 1", "∞", "NaN"],
  number: ["", "x", "-0.5", ".5", "5.", "1e3", "1,5", "Infinity"],
};

const KINDS: Readonly<Record<keyof typeof LIMIT_OPTIONS, keyof typeof BAD>> = {
  memory: "size",
  swap: "sizeOrNothing",
  cpus: "number",
  "cpu-weight": "whole",
  pids: "whole",
  disk: "size",
  inodes: "whole",
  nofile: "whole",
  fsize: "sizeOrNothing",
  "tmp-size": "size",
  "shm-size": "size",
  "cpu-time": "number",
  output: "sizeOrNothing",
};

Deno.test("applyLimits() refuses every other form", () => {
  for (const [name, kind] of Object.entries(KINDS)) {
    for (const text of BAD[kind]) refusal(`--${name}=${text}`);
  }
});

Deno.test("applyLimits() says what is wrong, and what would be right", () => {
  assertEquals(
    refusal("--pids", "many"),
    'Cannot read --pids "many": no number. Give a number, or none for no limit.',
  );
  assertEquals(
    refusal("--inodes", "1.5"),
    'Cannot read --inodes "1.5": no whole number. Give a number, or none for no limit.',
  );
  assertEquals(
    refusal("--memory", "big"),
    'Cannot read the size "big": no size of 4K or more. Give it as 512M or 2G.',
  );
});
