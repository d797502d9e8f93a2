/** Tests of files in live sandboxes: bytes, text, modes, owners, lists, trees. */
import { assertEquals, assertMatch } from "@std/assert";
import { identity, onlyAs } from "../support/identity.ts";
import { answerError, TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";

interface Info {
  readonly type: string;
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly target?: { readonly text: string };
}

/** A sandbox, and the calls on its files. */
async function open(): Promise<
  AsyncDisposable & {
    readonly server: TestServer;
    readonly id: string;
    file<T = Record<string, unknown>>(name: string, path: unknown, more?: object): Promise<T>;
    fault(name: string, path: unknown, more?: object): Promise<[kind: unknown, message: string]>;
    bash(script: string): Promise<string>;
  }
> {
  const server = new TestServer();
  const id = await server.create();
  return {
    server,
    id,
    file: (name, path, more = {}) => server.call(`file.${name}`, { sandbox: id, path, ...more }),
    fault: async (name, path, more = {}) => {
      const call = server.call(`file.${name}`, { sandbox: id, path, ...more });
      const { data, message } = await answerError(call);
      return [data.kind, message];
    },
    bash: async (script) => {
      const { stdout, stderr } = await server.run(id, script);
      assertEquals(stderr.text, "");
      return stdout.text;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

Deno.test("what is written is read, byte for byte, inside and outside", async () => {
  await using it = await open();
  const bytes = crypto.getRandomValues(new Uint8Array(60_001)).toBase64();
  for (const atomic of [true, false]) {
    await it.file("write", "/srv/a/b/bytes", { data: { base64: bytes }, atomic });
    assertEquals((await it.file("read", "/srv/a/b/bytes", { base64: true })).base64, bytes);
    assertEquals(await it.bash("base64 -w0 /srv/a/b/bytes"), bytes);
  }
  const text = "a\r\nb\r\nno end";
  await it.file("write", "/srv/crlf", { data: text });
  assertEquals(await it.file("read", "/srv/crlf"), { text, bytes: 12, isEnd: true });
  assertEquals(await it.bash("cat /srv/crlf"), text);
});

Deno.test("text that is not of the encoding is an error that names the byte, or mended", async () => {
  await using it = await open();
  await it.bash(
    `printf '\\xff\\x00a' >/srv/bad; printf 'caf\\xe9' >/srv/latin; printf 'gut \\xc3' >/srv/cut`,
  );
  assertEquals(await it.fault("read", "/srv/bad"), [
    "usage",
    'Cannot read "/srv/bad" as utf-8: byte 0 is not. Give errors "replace", another encoding, or base64.',
  ]);
  assertMatch((await it.fault("read", "/srv/cut"))[1], /byte 4 is not/);
  assertEquals((await it.file("read", "/srv/bad", { errors: "replace" })).text, "\ufffd\0a");
  assertEquals((await it.file("read", "/srv/latin", { encoding: "latin1" })).text, "café");
  assertEquals((await it.fault("read", "/srv/bad", { encoding: "nonsense" }))[0], "usage");
});

Deno.test("a part is read, of a file of any length", async () => {
  await using it = await open();
  await it.bash("printf 0123456789 >/srv/f; truncate -s 3T /srv/sparse; printf x >>/srv/sparse");
  const part = (offset: number, length: number) => it.file("read", "/srv/f", { offset, length });
  assertEquals(await part(3, 4), { text: "3456", bytes: 4, isEnd: false });
  assertEquals(await part(8, 4), { text: "89", bytes: 2, isEnd: true });
  assertEquals(await part(80, 4), { text: "", bytes: 0, isEnd: true });
  const far = { offset: 3 * 2 ** 40 - 1, length: 9, base64: true };
  assertEquals((await it.file("read", "/srv/sparse", far)).base64, btoa("\0x"));
  assertEquals((await it.fault("read", "/srv/sparse"))[0], "usage");
});

Deno.test("what is no regular file is refused, and nothing waits for it", async () => {
  await using it = await open();
  await it.bash("mkfifo /srv/fifo; ln -s loop /srv/loop; mkdir /srv/dir; ln -s fifo /srv/to");
  const why: Record<string, string> = {
    fifo: "it is a FIFO, not a regular file",
    to: "it is a FIFO, not a regular file",
    dir: "it is a directory",
    "": "it is a directory",
  };
  for (const [name, state] of Object.entries(why)) {
    const path = `/srv/${name}`;
    for (const atomic of [true, false]) {
      assertEquals(await it.fault("write", path, { data: "x", atomic }), [
        "usage",
        `Cannot write "${path}": ${state}`,
      ]);
    }
    assertEquals(await it.fault("read", path), ["usage", `Cannot read "${path}": ${state}`]);
  }
  assertMatch((await it.fault("read", "/dev/null"))[1], /it is a device/);
  assertEquals((await it.fault("read", "/srv/loop"))[0], "usage");
  assertEquals(await it.fault("read", "/srv/none"), [
    "notFound",
    'Cannot read "/srv/none": there is no such file or directory',
  ]);
  assertEquals((await it.fault("read", "/srv/a\0b"))[0], "usage");
});

Deno.test("a file keeps its mode, or gets the one that is asked for; links are followed", async () => {
  await using it = await open();
  await it.bash("cd /srv; echo old >f; chmod 751 f; ln -s f link; ln -s new dangling");
  await it.file("write", "/srv/link", { data: "1" });
  await it.file("write", "/srv/dangling", { data: "2" });
  await it.file("write", "/srv/secret", { data: "3", mode: 0o600 });
  assertEquals(
    await it.bash("cd /srv; stat -c '%n %a %F' f new secret link; cat f new secret"),
    "f 751 regular file\nnew 644 regular file\nsecret 600 regular file\nlink 777 symbolic link\n123",
  );
  assertEquals(await it.bash("ls -A /srv | wc -l"), "5\n");
});

Deno.test({
  name: "files of any owner and mode are read and written, and owners given and kept",
  ...onlyAs("root", "subordinate", "none"),
  fn: async () => {
    await using it = await open();
    await it.bash("cd /srv; mkdir d; echo x >d/f; chmod 0 d/f; chmod 700 d; chown -R 1000:1001 d");
    assertEquals((await it.file("read", "/srv/d/f")).text, "x\n");
    await it.file("write", "/srv/d/f", { data: "y" });
    await it.file("write", "/srv/d/g", { data: "z", owner: { uid: 7, gid: 8 } });
    await it.file("makeDir", "/srv/d/e/h", { owner: { uid: 7, gid: 8 }, mode: 0o1777 });
    assertEquals(
      await it.bash("cd /srv/d; stat -c '%n %u:%g %a' f g e e/h; cat f g"),
      "f 1000:1001 0\ng 7:8 644\ne 0:0 755\ne/h 7:8 1777\nyz",
    );
  },
});

Deno.test("a file is told of as it is, a link as a link", async () => {
  await using it = await open();
  await it.bash(
    "cd /srv; printf abc >f; chmod 640 f; ln -s f l; mkfifo p; mkdir d; touch $'\\xff'",
  );
  const stat = (path: string, more?: object) => it.file<Info>("stat", path, more);
  const { type, size, mode } = await stat("/srv/f");
  assertEquals([type, size, mode], ["file", 3, 0o640]);
  const link = await stat("/srv/l");
  assertEquals([link.type, link.target], ["symlink", { text: "f" }]);
  assertEquals((await stat("/srv/l", { follow: true })).type, "file");
  assertEquals((await it.fault("stat", "/srv/none"))[0], "notFound");

  const { files, isCut } = await it.file<{ files: (Info & { name: unknown })[]; isCut: boolean }>(
    "list",
    "/srv",
  );
  assertEquals(isCut, false);
  assertEquals(files.map(({ name, type, target }) => [name, type, target?.text]), [
    [{ text: "d" }, "directory", undefined],
    [{ text: "f" }, "file", undefined],
    [{ text: "l" }, "symlink", "f"],
    [{ text: "p" }, "fifo", undefined],
    [{ text: "\ufffd", base64: "/w==" }, "file", undefined],
  ]);
  const strange = { base64: btoa("/srv/\xff") };
  assertEquals((await it.file<Info>("stat", strange)).type, "file");
  assertEquals((await it.fault("list", "/srv/f"))[0], "usage");
});

Deno.test("a large directory is listed up to what is asked", async () => {
  await using it = await open();
  await it.bash("cd /srv; seq 3000 | xargs touch");
  const { files, isCut } = await it.file<{ files: unknown[]; isCut: boolean }>("list", "/srv");
  assertEquals([files.length, isCut], [3000, false]);
  const few = await it.file<{ files: unknown[]; isCut: boolean }>("list", "/srv", { most: 10 });
  assertEquals([few.files.length, few.isCut], [10, true]);
});

Deno.test("files, links and trees are removed, and nothing that they lead to", async () => {
  await using it = await open();
  await it.bash(
    "cd /srv; mkdir -p t/a/b; touch t/a/f keep; ln -s ../keep t/l; ln -s t link; mkdir e",
  );
  assertEquals((await it.fault("remove", "/srv/t"))[0], "usage");
  await it.file("remove", "/srv/link");
  await it.file("remove", "/srv/e");
  await it.file("remove", "/srv/t", { recursive: true });
  assertEquals(await it.bash("ls /srv"), "keep\n");
  assertEquals((await it.fault("remove", "/srv/t"))[0], "notFound");
  assertEquals(await it.file("remove", "/srv/t", { mayMiss: true }), { removed: false });
  assertEquals((await it.fault("remove", "/"))[0], "usage");
});

Deno.test("directories are made with their parents, or refused", async () => {
  await using it = await open();
  await it.file("makeDir", "/srv/a/b/c", { mode: 0o700 });
  await it.file("makeDir", "/srv/a/b/c", { mode: 0o755 });
  assertEquals(await it.bash("stat -c %a /srv/a /srv/a/b /srv/a/b/c"), "755\n755\n700\n");
  const alone = { makeParents: false };
  assertEquals((await it.fault("makeDir", "/srv/a/b/c", alone))[0], "usage");
  assertEquals((await it.fault("makeDir", "/srv/x/y", alone))[0], "notFound");
  await it.bash("touch /srv/file");
  assertEquals((await it.fault("makeDir", "/srv/file"))[0], "usage");
});

Deno.test("trees go in and come out as they were", async () => {
  await using it = await open();
  using temp = tempDir();
  const tree = `${temp.path}/tree`;
  Deno.mkdirSync(`${tree}/a/b`, { recursive: true });
  Deno.writeTextFileSync(`${tree}/a/b/f`, "content\n", { mode: 0o750 });
  Deno.chmodSync(`${tree}/a/b/f`, 0o750);
  Deno.symlinkSync("b/f", `${tree}/a/l`);
  await it.file("upload", "/srv/in", { hostPath: tree });
  const show = "cd /srv/in && find . -mindepth 1 -printf '%P %y %m %U %l\\n' | sort && cat a/l";
  assertEquals(
    await it.bash(show),
    "a d 755 0 \na/b d 755 0 \na/b/f f 750 0 \na/l l 777 0 b/f\ncontent\n",
  );

  const out = `${temp.path}/out`;
  await it.file("download", "/srv/in", { hostPath: out });
  assertEquals(Deno.readTextFileSync(`${out}/a/l`), "content\n");
  assertEquals(Deno.statSync(`${out}/a/b/f`).mode! & 0o777, 0o750);
  assertEquals(Deno.statSync(`${out}/a/b/f`).uid, Deno.uid());

  const archive = `${temp.path}/tree.tar.gz`;
  await it.file("download", "/srv/in", { archive });
  await it.file("upload", "/srv/again", { archive });
  assertEquals(await it.bash("diff -r /srv/in /srv/again && echo same"), "same\n");
});

Deno.test("a file goes in and comes out as the caller's own", async () => {
  await using it = await open();
  using temp = tempDir();
  const from = `${temp.path}/from`;
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  Deno.writeFileSync(from, bytes);
  await it.file("upload", "/srv/x/f", { hostPath: from, mode: 0o711 });
  assertEquals(await it.bash("stat -c '%a %u' /srv/x/f"), "711 0\n");
  assertEquals(await it.file("download", "/srv/x/f", { hostPath: `${temp.path}/d/to` }), {
    bytes: 60_000,
    notes: [],
  });
  assertEquals(Deno.readFileSync(`${temp.path}/d/to`), bytes);
  assertEquals(Deno.statSync(`${temp.path}/d/to`).uid, Deno.uid());
  assertEquals([...Deno.readDirSync(`${temp.path}/d`)].length, 1);
});

Deno.test("what cannot be moved says why, and leaves nothing", async () => {
  await using it = await open();
  using temp = tempDir();
  assertEquals(
    (await it.fault("upload", "/srv/x", { hostPath: `${temp.path}/none` }))[0],
    "notFound",
  );
  assertEquals((await it.fault("upload", "/srv/x", { hostPath: "/dev/null" }))[0], "usage");
  assertEquals((await it.fault("upload", "/srv/x", { hostPath: "relative" }))[0], "usage");
  assertEquals((await it.fault("upload", "/srv/x"))[0], "usage");
  Deno.writeTextFileSync(`${temp.path}/no.tar`, "no tar at all");
  assertEquals(
    (await it.fault("upload", "/srv/x", { archive: `${temp.path}/no.tar` }))[0],
    "archive",
  );
  assertEquals(
    (await it.fault("download", "/none", { hostPath: `${temp.path}/o` }))[0],
    "notFound",
  );
  await it.bash("mkfifo /srv/fifo");
  const to = { hostPath: `${temp.path}/o` };
  assertEquals((await it.fault("download", "/srv/fifo", to))[0], "usage");
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), ["no.tar"]);
});

Deno.test("files of a sandbox that has ended are gone", async () => {
  await using it = await open();
  await it.server.call("sandbox.close", { sandbox: it.id });
  for (const [name, more] of [["read", {}], ["write", { data: "" }], ["list", {}]] as const) {
    assertEquals((await it.fault(name, "/srv/x", more))[0], "gone");
  }
});

Deno.test("a file of the base is written: the host's stays as it is", async () => {
  await using it = await open();
  const before = Deno.readTextFileSync("/usr/share/common-licenses/BSD");
  await it.file("write", "/usr/share/common-licenses/BSD", { data: "mine" });
  assertEquals((await it.file("read", "/usr/share/common-licenses/BSD")).text, "mine");
  const inPlace = { data: "more", atomic: false };
  if (identity() === "root") await it.file("write", "/usr/share/common-licenses/GPL-2", inPlace);
  assertEquals(Deno.readTextFileSync("/usr/share/common-licenses/BSD"), before);
});
