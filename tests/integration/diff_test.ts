/** Tests of what is told of changes in a live sandbox: as a list, and as git tells of them. */
import { assert, assertEquals } from "@std/assert";
import { requires } from "../support/requirement.ts";
import { TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";

interface Diff {
  readonly changes: {
    readonly path: { readonly text: string };
    readonly status: string;
    readonly before: { readonly type: string } | null;
    readonly after: { readonly type: string; readonly mode: number } | null;
  }[];
  readonly patch: { readonly text: string; readonly lossy: boolean; readonly base64: string };
  readonly isCut: boolean;
}

async function diff(server: TestServer, sandbox: string, more: object = {}): Promise<Diff> {
  return await server.call<Diff>("sandbox.diff", { sandbox, base64: true, ...more });
}

function list({ changes }: Diff): string[] {
  return changes.map(({ path, status }) => `${status} ${path.text}`);
}

async function bash(server: TestServer, sandbox: string, script: string): Promise<string> {
  const { stdout, stderr } = await server.run(sandbox, script);
  assertEquals(stderr.text, "");
  return stdout.text;
}

/** A repository with files of every kind, before and after. */
const BEFORE = `
  mkdir -p sub/deep; seq 200 >numbers; printf 'no end' >open; printf 'a\\r\\nb\\r\\n' >crlf
  head -c 3000 /dev/zero >binary; echo gone >gone; echo mode >mode; ln -s numbers link; : >empty
  printf 'def f():\\n' >code.py; seq 50 | sed 's/^/    x = /' >>code.py; echo x >'sub/a b'; echo t >type
`;
const AFTER = `
  sed -i '5d;100s/$/ changed/;150i new' numbers; printf ' now with\\nmore' >>open; printf 'c\\r\\n' >>crlf
  printf 'x\\0y' >>binary; head -c 100 /dev/zero >new.bin; rm gone; chmod 755 mode; ln -sfn open link
  echo full >empty; echo new >sub/deep/new; : >none; sed -i 's/x = 40$/y = 40/' code.py
  echo y >>'sub/a b'; rm type; ln -s numbers type; printf 'q\\n' >'quote"d'; touch $'caf\\xc3\\xa9'
`;

Deno.test({
  name: "a patch is the one that git makes, and git apply takes it",
  ...requires("git"),
  fn: async () => {
    await using server = new TestServer();
    using temp = tempDir();
    // The base is a layer: what it holds has not changed.
    const git = "git -c user.name=x -c user.email=x@x -c init.defaultBranch=main";
    const repository = `${temp.path}/tree`;
    const made = await new Deno.Command("bash", {
      args: [
        "-ec",
        `mkdir ${repository}; cd ${repository}; ${git} init -q; ${BEFORE}
        git add -A; ${git} commit -qm first; tar cf ${temp.path}/tree.tar -C ${repository} .`,
      ],
      env: { GIT_CONFIG_GLOBAL: "/dev/null" },
    }).output();
    assert(made.success, new TextDecoder().decode(made.stderr));
    const layers = [{ archive: `${temp.path}/tree.tar`, path: "/testbed" }];
    const sandbox = await server.create({ layers, workdir: "/testbed" });
    await bash(server, sandbox, AFTER);

    const { patch, isCut } = await diff(server, sandbox, { root: "/testbed", format: "unified" });
    assertEquals(isCut, false);
    const patched = await new Deno.Command("bash", {
      args: [
        "-ec",
        `cd ${repository}; git apply --index ${temp.path}/patch; git diff --cached --binary`,
      ],
      env: { GIT_CONFIG_GLOBAL: "/dev/null" },
      ...(Deno.writeFileSync(`${temp.path}/patch`, Uint8Array.fromBase64(patch.base64)), {}),
    }).output();
    assertEquals(new TextDecoder().decode(patched.stderr), "");
    const theirs = new TextDecoder("latin1").decode(patched.stdout);
    // Bytes may be deflated otherwise, and git may write what to copy of the old ones.
    const isText = (part: string) => !part.includes("GIT binary patch");
    const parts = (text: string) => text.split("diff --git ").filter(isText);
    assertEquals(parts(latin1(patch.base64)), parts(theirs));
    // A tree that was patched is the tree that was changed.
    const inside = await bash(server, sandbox, "git add -A; git write-tree");
    const outside = await new Deno.Command("git", { args: ["write-tree"], cwd: repository })
      .output();
    assertEquals(inside, new TextDecoder().decode(outside.stdout));
  },
});

Deno.test("what changed is listed, in every part of the base", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  assertEquals((await diff(server, sandbox)).changes, []);
  await bash(
    server,
    sandbox,
    `echo x >>/etc/hosts; rm /etc/shells /usr/bin/tail; mkdir -p /srv/a/b; echo y >/srv/a/b/f
    rm -r /usr/share/common-licenses; mkdir /usr/share/common-licenses; echo z >/usr/share/common-licenses/own
    mkfifo /srv/fifo; echo >/tmp/not-told`,
  );
  const found = list(await diff(server, sandbox)).filter((it) => !it.includes("licenses/"));
  assertEquals(found, [
    "modified etc/hosts",
    "deleted etc/shells",
    "added srv/a",
    "added srv/a/b",
    "added srv/a/b/f",
    "added srv/fifo",
    "deleted usr/bin/tail",
  ]);
  const licenses = list(await diff(server, sandbox, { root: "/usr/share/common-licenses" }));
  assert(licenses.includes("added own") && licenses.includes("deleted GPL-2"), `${licenses}`);
});

Deno.test("what was changed back is no change; modes and owners are", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  await bash(
    server,
    sandbox,
    "cp /etc/hosts /srv/m; echo x >>/etc/hosts; cat /srv/m >/etc/hosts; rm /srv/m",
  );
  assertEquals(list(await diff(server, sandbox)), []);
  await bash(server, sandbox, "chmod 700 /etc/hosts");
  const { changes, patch } = await diff(server, sandbox);
  assertEquals(changes.map(({ status, after }) => [status, after?.mode]), [
    ["attributesChanged", 0o700],
  ]);
  assertEquals(
    patch.text,
    "diff --git a/etc/hosts b/etc/hosts\nold mode 100644\nnew mode 100755\n",
  );
});

Deno.test("a fork is compared with its layers, snapshots are layers", async () => {
  await using server = new TestServer();
  const first = await server.create();
  await bash(server, first, "echo 1 >/srv/a; echo 1 >/srv/b; rm /etc/shells");
  const { sandboxes } = await server.call<{ sandboxes: { sandbox: string }[] }>("sandbox.fork", {
    sandbox: first,
  });
  const second = sandboxes[0]!.sandbox;
  await bash(server, second, "rm /srv/a; echo 2 >/srv/c");
  assertEquals(list(await diff(server, second)), [
    "deleted etc/shells",
    "added srv/b",
    "added srv/c",
  ]);
  await server.call("sandbox.snapshot", { sandbox: second, name: "compared" });
  const third = await server.create({ from: ["compared"] });
  await bash(server, third, "rm /srv/b");
  assertEquals(list(await diff(server, third)), ["deleted srv/b"]);
  await server.call("sandbox.close", { sandbox: third });
  await server.call("snapshot.remove", { name: "compared" });
});

Deno.test("paths are chosen and left out; what is too much is said to be cut", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  await bash(
    server,
    sandbox,
    "mkdir -p /srv/r/.git /srv/r/a/__pycache__ /srv/r/b; cd /srv/r; touch .git/x a/f a/__pycache__/p b/f.pyc b/g",
  );
  const root = "/srv/r";
  const of = async (more: object) => list(await diff(server, sandbox, { root, ...more }));
  assertEquals(await of({}), [
    "added a",
    "added a/__pycache__",
    "added a/__pycache__/p",
    "added a/f",
    "added b",
    "added b/f.pyc",
    "added b/g",
  ]);
  assertEquals(await of({ exclude: ["__pycache__", "*.pyc", "b/g"] }), [
    "added a",
    "added a/f",
    "added b",
  ]);
  assertEquals(await of({ paths: ["a/f", "/srv/r/b", "/etc"] }), [
    "added a/f",
    "added b",
    "added b/f.pyc",
    "added b/g",
  ]);
  const few = await diff(server, sandbox, { root, mostChanges: 2 });
  assertEquals([list(few).length, few.isCut], [2, true]);
  await bash(server, sandbox, "seq 10000 >/srv/r/long; echo short >/srv/r/short");
  const short = await diff(server, sandbox, {
    root,
    mostPatchBytes: 1000,
    paths: ["long", "short"],
  });
  assertEquals([list(short).length, short.isCut], [2, true]);
  assert(short.patch.text.includes("+short") && !short.patch.text.includes("long"));
});

function latin1(base64: string): string {
  return new TextDecoder("latin1").decode(Uint8Array.fromBase64(base64));
}
