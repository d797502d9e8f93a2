/** Tests who may import whom, and what only the edges may do. */
import { assertEquals } from "@std/assert";
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { relative } from "@std/path/relative";
import { resolve } from "@std/path/resolve";
import { listFiles, ROOT } from "../../tools/checkout.ts";

const ENGINES = ["sandbox", "session", "archive", "store", "budget", "rpc", "diff", "task"];

/** The parts of the program, and the parts each may import beside itself and `SHARED`. */
const TABLE: Readonly<Record<string, readonly string[]>> = {
  main: ["cli"],
  cli: ["app", "version"],
  app: [...ENGINES, "version"],
  ...Object.fromEntries(ENGINES.map((engine) => [engine, ["ffi"]])),
  ffi: [],
  errors: [],
  log: [],
  version: ["deno.json"],
};

/** What every part but ffi may import. */
const SHARED = ["errors", "log"];

const IMPORT = /(?:^|[\s;}])(?:from|import)\s*\(?\s*["'](\.[^"']*)["']/g;

interface Source {
  readonly path: string;
  readonly part: string;
  readonly text: string;
}

Deno.test("each part imports only what the table allows", async () => {
  const wrong: string[] = [];
  for (const source of await readSources()) {
    const allowed = TABLE[source.part];
    if (allowed === undefined) {
      wrong.push(`${source.path} belongs to no part`);
      continue;
    }
    for (const target of listImports(source)) {
      const part = toPart(target);
      const isShared = source.part !== "ffi" && SHARED.includes(part);
      if (part !== source.part && !isShared && !allowed.includes(part)) {
        wrong.push(`${source.path} imports ${target}`);
      }
    }
  }
  assertEquals(wrong, []);
});

Deno.test("ffi is entered by ffi/mod.ts only", async () => {
  const wrong: string[] = [];
  for (const source of await readSources()) {
    if (source.part === "ffi") continue;
    for (const target of listImports(source)) {
      if (toPart(target) === "ffi" && target !== "ffi/mod.ts") {
        wrong.push(`${source.path} imports ${target}`);
      }
    }
  }
  assertEquals(wrong, []);
});

Deno.test("only main.ts exits, only main.ts, cli and log print", async () => {
  const wrong: string[] = [];
  for (const { path, part, text } of await readSources()) {
    const code = stripComments(text);
    if (part !== "main" && /\bDeno\.exit\b/.test(code)) wrong.push(`${path} exits`);
    if (!["main", "cli", "log"].includes(part) && /\bconsole\./.test(code)) {
      wrong.push(`${path} prints`);
    }
  }
  assertEquals(wrong, []);
});

// `{ z }` is one object that holds all of zod: 20 ms of each start instead of 2.
Deno.test("zod is imported as a namespace, so that the bundle holds only what is used", async () => {
  const wrong = (await readSources()).filter(({ text }) => /\bz\b[^;]*\} from "zod/.test(text));
  assertEquals(wrong.map(({ path }) => path), []);
});

Deno.test("file names are snake_case and say what is inside", async () => {
  const vague = ["utils", "helpers", "common", "types", "index", "manager"];
  const wrong = (await readSources()).map(({ path }) => path).filter((path) => {
    const name = path.split("/").at(-1)?.replace(/\.ts$/, "") ?? "";
    return !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name) || vague.includes(name);
  });
  assertEquals(wrong, []);
});

Deno.test("stripComments() keeps strings that look like comments", () => {
  assertEquals(stripComments('a("//b"); // c\n/* d */e'), 'a("//b"); \ne');
});

async function readSources(): Promise<Source[]> {
  const files = [...await listFiles("ffi"), ...await listFiles("src")];
  const paths = ["main.ts", ...files.filter((path) => path.endsWith(".ts"))];
  return await Promise.all(paths.map(async (path) => ({
    path,
    part: toPart(path),
    text: await Deno.readTextFile(join(ROOT, path)),
  })));
}

function listImports({ path, text }: Source): string[] {
  const folder = dirname(join(ROOT, path));
  return [...stripComments(text).matchAll(IMPORT)].map(([, specifier = ""]) =>
    relative(ROOT, resolve(folder, specifier))
  );
}

function toPart(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return (first === "src" ? second : first).replace(/\.ts$/, "");
}

function stripComments(text: string): string {
  const token = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\/\/[^\n]*|\/\*[^]*?\*\//g;
  return text.replace(token, (_, string: string | undefined) => string ?? "");
}
