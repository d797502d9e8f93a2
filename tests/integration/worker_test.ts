/** Tests of the worker process: archive in, JSON lines out. */
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { fromFileUrl } from "@std/path/from-file-url";
import {
  fromErrorMessage,
  parseMessage,
  type WorkerMessage,
} from "../../src/app/worker_message.ts";
import { ArchiveError } from "../../src/errors.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const PROCESS = fromFileUrl(new URL("../support/worker_process.ts", import.meta.url));

interface Run {
  readonly code: number;
  readonly messages: readonly WorkerMessage[];
}

async function run(args: readonly string[], input: Uint8Array = new Uint8Array(0)): Promise<Run> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROCESS, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  await ReadableStream.from([input]).pipeTo(child.stdin).catch(() => {}); // it may refuse early
  const { code, stdout } = await child.output();
  const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  return { code, messages: lines.map(parseMessage) };
}

Deno.test("a worker unpacks what it reads, and tells what it came to", async () => {
  using temp = tempDir();
  const archive = tar({ name: "a", body: "hello" }, { name: "d/", type: "5" });
  const { code, messages } = await run(["__unpack", "--into", temp.path], archive);
  assertEquals(code, 0);
  const last = messages.at(-1)!;
  assert("summary" in last);
  assertEquals([last.summary.files, last.summary.directories, last.summary.bytes], [1, 1, 5]);
  assertEquals(Deno.readTextFileSync(`${temp.path}/a`), "hello");
});

Deno.test("a worker unpacks a file that it is given by its path", async () => {
  using temp = tempDir();
  Deno.writeFileSync(`${temp.path}/x.tar`, tar({ name: "a", body: "hello" }));
  Deno.mkdirSync(`${temp.path}/tree`);
  const paths = ["--archive", `${temp.path}/x.tar`, "--into", `${temp.path}/tree`];
  assertEquals((await run(["__unpack", ...paths])).code, 0);
  assertEquals(Deno.readTextFileSync(`${temp.path}/tree/a`), "hello");
});

Deno.test("a worker's refusal is the same error in the process that started it", async () => {
  using temp = tempDir();
  const archive = tar({ name: "a" }, { name: "../b" });
  const args = ["__unpack", "--into", temp.path, "--name", "x.tar"];
  const { code, messages } = await run(args, archive);
  assertEquals(code, 1);
  const last = messages.at(-1)!;
  assert("error" in last);
  const error = fromErrorMessage(last.error);
  assertInstanceOf(error, ArchiveError);
  assertEquals([error.entry, error.offset], ["../b", 512]);
  assertEquals(
    error.message,
    'Cannot unpack "x.tar": entry "../b" at byte 512 has ".." in its name',
  );
});

Deno.test("a worker removes a tree, also one with closed directories, and no more", async () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/dir/work/work`, { recursive: true });
  Deno.writeTextFileSync(`${temp.path}/kept`, "");
  Deno.symlinkSync(`${temp.path}/kept`, `${temp.path}/dir/link`);
  Deno.chmodSync(`${temp.path}/dir/work/work`, 0);
  assertEquals(await run(["__remove", `${temp.path}/dir`]), { code: 0, messages: [] });
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), ["kept"]);
});
