/** A small root file system that works: programs of this host with the libraries that they need. */
import type { Member } from "./tar.ts";

const PROGRAMS = [
  "/bin/sh",
  "/bin/cat",
  "/bin/ls",
  "/bin/id",
  "/bin/rm",
  "/bin/mkdir",
  "/bin/stat",
];

/** Gives its members; `more` come after them. */
export function rootFs(...more: readonly Member[]): Member[] {
  const files = new Set([...PROGRAMS, ...PROGRAMS.flatMap(librariesOf)]);
  const directories = new Set([...files].flatMap(parentsOf));
  return [
    ...[...directories].sort().map((name) => ({ name: `${name}/`, type: "5", mode: 0o755 })),
    ...[...files].map((path) => ({
      name: path.slice(1),
      body: Deno.readFileSync(path),
      mode: 0o755,
    })),
    { name: "etc/", type: "5", mode: 0o755 },
    {
      name: "etc/passwd",
      body: "root:x:0:0::/root:/bin/sh\nweb:x:1234:1234::/srv:/bin/sh\n",
    },
    { name: "etc/group", body: "root:x:0:\nweb:x:1234:\n" },
    ...more,
  ];
}

function librariesOf(program: string): string[] {
  const { stdout } = new Deno.Command("ldd", { args: [program] }).outputSync();
  return [...new TextDecoder().decode(stdout).matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!);
}

function parentsOf(path: string): string[] {
  const parts = path.slice(1).split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}
