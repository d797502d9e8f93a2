/** Tests of `run --spec`: all that can be said, and names that options cannot say. */
import { assertEquals } from "@std/assert";
import { packFiles } from "../support/archive.ts";
import { minisandbox, refusal, type Result, type RunOptions } from "../support/minisandbox.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Runs a spec, with options before `--` if any. */
async function runSpec(
  dir: string,
  spec: unknown,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<Result> {
  const file = `${dir}/spec.json`;
  Deno.writeTextFileSync(file, typeof spec === "string" ? spec : JSON.stringify(spec));
  return await minisandbox(["run", "--quiet", "--spec", file, ...args], options);
}

Deno.test("every field of a spec does what its option does", async () => {
  using temp = tempDir();
  const archive = await packFiles(temp.path, "x.tar.gz", { f: "from the layer\n" });
  Deno.writeTextFileSync(`${temp.path}/bound`, "from outside\n");
  Deno.mkdirSync(`${temp.path}/shared`);
  Deno.chmodSync(`${temp.path}/shared`, 0o777);
  const script = `set -e; cat f /srv/bound; echo "$A|$HOME|$(pwd)|$(hostname)|$(id -u)"
    echo written > /srv/shared/new; (echo x > /srv/bound) 2>/dev/null || echo read-only
    tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d ' '; exec sleep 600`;
  const { code, stdout, stderr } = await runSpec(temp.path, {
    base: "host",
    layers: [{ archive, path: "/opt/x" }],
    binds: [
      { source: `${temp.path}/bound`, target: "/srv/bound" },
      { source: `${temp.path}/shared`, target: "/srv/shared", writable: true },
    ],
    env: { A: "a=b\nc", HOME: "/nowhere" },
    workdir: "/opt/x",
    network: "none",
    user: 1000,
    hostname: "box",
    timeoutMs: 2500,
    upper: { kind: "tmpfs", sizeBytes: 16 << 20 },
    command: ["bash", "-c", script],
  });
  assertEquals([code, stderr], [124, ""]);
  assertEquals(
    stdout,
    [
      "from the layer",
      "from outside",
      "a=b",
      "c|/nowhere|/opt/x|box|1000",
      "read-only",
      "lo",
      "",
    ].join("\n"),
  );
  assertEquals(Deno.readTextFileSync(`${temp.path}/shared/new`), "written\n");
});

Deno.test("options stand for, or are added to, what a spec says", async () => {
  using temp = tempDir();
  const spec = { env: { A: "1", B: "2" }, workdir: "/usr", command: ["bash", "-c", "exit 9"] };
  assertEquals((await runSpec(temp.path, spec)).code, 9);
  const args = ["-e", "B=3", "-w", "/etc", "--", "bash", "-c", 'echo "$A$B $(pwd)"'];
  assertEquals((await runSpec(temp.path, spec, args)).stdout, "13 /etc\n");
});

Deno.test("a spec can show binds and layers at names of any bytes that text can hold", async () => {
  using temp = tempDir();
  const names = ["a:b", "a,b", "a\\b", "a\nb", "a b", "'\"`$x*", ":ro", "é😀", "x".repeat(255)];
  const binds = names.map((name) => {
    Deno.writeTextFileSync(`${temp.path}/${name}`, `bound ${name}`);
    return { source: `${temp.path}/${name}`, target: `/srv/${name}` };
  });
  const layers = await Promise.all(names.map(async (name, i) => {
    const archive = await packFiles(temp.path, `layer-${i}.tar.gz`, { f: `layer ${name}` });
    const renamed = `${temp.path}/archive ${i === 8 ? "y".repeat(240) : name}`;
    Deno.renameSync(archive, renamed);
    return { archive: renamed, path: `/opt/layers/${name}` };
  }));
  const script = `import os, json
def read(dir, file): return {name: open(f"{dir}/{name}{file}").read() for name in os.listdir(dir)}
print(json.dumps([read("/srv", ""), read("/opt/layers", "/f")]))`;
  const { stdout, stderr } = await runSpec(temp.path, {
    binds,
    layers,
    command: ["python3", "-c", script],
  });
  assertEquals(stderr, "");
  assertEquals(JSON.parse(stdout), [
    Object.fromEntries(names.map((name) => [name, `bound ${name}`])),
    Object.fromEntries(names.map((name) => [name, `layer ${name}`])),
  ]);
});

Deno.test("a name longer than a file system takes is refused in one line", async () => {
  using temp = tempDir();
  const long = "x".repeat(256);
  const archive = await packFiles(temp.path, "x.tar.gz", { f: "" });
  const [bind] = refusal(
    await runSpec(temp.path, {
      binds: [{ source: "/usr", target: `/srv/${long}` }],
      command: ["true"],
    }),
  );
  const [layer] = refusal(
    await runSpec(temp.path, {
      layers: [{ archive, path: `/opt/${long}` }],
      command: ["true"],
    }),
  );
  assertEquals([bind, layer], [125, 125]);
});

Deno.test("a spec that is no spec is refused in one line that names the place", async () => {
  using temp = tempDir();
  const refuse = async (spec: unknown) => {
    const [code, line] = refusal(await runSpec(temp.path, spec, ["--", "true"]));
    assertEquals(code, 125);
    return line.replace(`"${temp.path}/spec.json"`, "FILE");
  };
  const remedy = " See its fields by: minisandbox run --help.";
  const states: readonly (readonly [spec: unknown, state: string])[] = [
    [{ layer: [] }, 'no field is called "layer"'],
    [{ binds: [{ source: "/x", target: 5 }] }, "binds.0.target: it must be a string"],
    [{ binds: [{ source: "/x" }] }, "binds.0.target: it is missing"],
    [{ upper: { kind: "ram" } }, "upper.kind: it must be disk or tmpfs"],
    [{ upper: { kind: "tmpfs", sizeBytes: 0 } }, "upper.sizeBytes: it must be more than 0"],
    [{ user: 1.5 }, "user: it must be a string or a whole number"],
    [{ network: "x" }, "network: it must be none or blackhole or host"],
    [{ env: { A: 5 } }, "env.A: it must be a string"],
    [{ timeoutMs: "5" }, "timeoutMs: it must be a number"],
    [[], "it must be an object"],
  ];
  for (const [spec, state] of states) {
    assertEquals(await refuse(spec), `Cannot read the spec FILE: ${state}.${remedy}`);
  }
  assertEquals((await refuse({ workdir: "x" })).startsWith("Cannot use the workdir"), true);
  assertEquals((await refuse("{")).endsWith("It must be one JSON object."), true);
  assertEquals((await refuse("")).endsWith("It must be one JSON object."), true);
  assertEquals(refusal(await minisandbox(["run", "--spec", "/no/such", "--", "true"])), [
    125,
    'Cannot read the spec "/no/such": no such file',
  ]);
});
