/** Tests that a snapshot in the middle of pip's work is what lay there at one moment. */
import { assert, assertEquals } from "@std/assert";
import { requires } from "../support/requirement.ts";
import { TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";
import { writeWheel } from "../support/wheel.ts";

const NAMES = ["alpha", "beta"];

/** Modules of each wheel: files of more than one write. */
const PARTS = 60;

const VENV = "/srv/venv/lib/python3*/site-packages";

/** So many snapshots shall have caught pip with a distribution that was not whole. */
const CAUGHT = 4;

/** pip writes into a venv and takes out again; then into a directory of its own, by renames. */
const WORK = `
  set -e; export TMPDIR=/srv/tmp; mkdir /srv/tmp; cd /srv
  pip() { /srv/venv/bin/python -m pip "$1" -q --disable-pip-version-check "\${@:2}"; }
  for i in $(seq 100000); do
    pip install --no-index --no-deps --no-compile /srv/wheels/*.whl; touch /srv/began
    pip uninstall -y ${NAMES.join(" ")}
    rm -rf /srv/target; pip install --no-index --no-deps --no-compile --target /srv/target /srv/wheels/*.whl
  done
`;

/** Tells what became of each wheel's files in either place. */
const LOOK = `
import base64, csv, glob, hashlib, json, os, zipfile
[venv] = glob.glob("${VENV}")
told = []
def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
for path in sorted(glob.glob("/srv/wheels/*.whl")):
    for place in venv, "/srv/target":
        it = {"name": os.path.basename(path).split("-")[0], "isVenv": place == venv}
        it.update(whole=[], missing=[], begun=[], wrong=[])
        with zipfile.ZipFile(path) as wheel:
            record = [name for name in wheel.namelist() if name.endswith("/RECORD")][0]
            for name in wheel.namelist():
                if name == record: continue
                try:
                    with open(f"{place}/{name}", "rb") as file: found = file.read()
                except FileNotFoundError:
                    it["missing"].append(name)
                    continue
                wanted = wheel.read(name)
                kind = "whole" if found == wanted else "begun" if wanted.startswith(found) else "wrong"
                it[kind].append(name)
        try:
            with open(f"{place}/{record}", newline="") as file: rows = list(csv.reader(file))
        except FileNotFoundError:
            rows = []
        it["isRecorded"] = len(rows) > 0
        for name, hash, _ in rows:
            try:
                with open(f"{place}/{name}", "rb") as file: found = file.read()
            except FileNotFoundError: continue
            if hash and digest(found) != hash: it["wrong"].append(name)
        told.append(it)
print(json.dumps(told))
`;

/** One distribution in one place. */
interface Told {
  readonly name: string;
  readonly isVenv: boolean;
  readonly isRecorded: boolean;
  readonly whole: string[];
  readonly missing: string[];
  /** Files that hold the beginning of what they shall. */
  readonly begun: string[];
  readonly wrong: string[];
}

async function bash(server: TestServer, sandbox: string, script: string): Promise<string> {
  const { stdout, stderr, outcome } = await server.run(sandbox, ["bash", "-c", script]);
  assertEquals([stderr.text, outcome.code], ["", 0]);
  return stdout.text;
}

Deno.test({
  name: "snapshots in the middle of pip install hold each file whole, but the one that is written",
  ...requires("python3", "venv"),
  fn: async () => {
    await using server = new TestServer();
    using temp = tempDir();
    for (const name of NAMES) writeWheel(temp.path, name, `NAME = "${name}"\n`, PARTS);
    const first = await server.create();
    await bash(server, first, "/usr/bin/python3 -m venv /srv/venv");
    await server.call("file.upload", { sandbox: first, path: "/srv/wheels", hostPath: temp.path });
    await server.call("sandbox.snapshot", { sandbox: first, name: "pip-venv" });
    const second = await server.create({ from: ["pip-venv"] });
    const { process } = await server.call<{ process: string }>("process.start", {
      sandbox: second,
      command: ["bash", "-c", WORK],
    });
    const failed = server.call<{ stderr: { text: string } }>("process.wait", { process })
      .then(({ stderr }): never => {
        throw new Error(`pip has failed: ${stderr.text}`);
      });
    failed.catch(() => {}); // it ends with its sandbox
    const wait = (script: string) => Promise.race([bash(server, second, script), failed]);
    await wait("until [ -e /srv/began ]; do :; done");

    let caught = 0;
    for (let i = 0; caught < CAUGHT; i++) {
      // Each time another file is waited for, so that pip is met at different moments.
      const name = NAMES[i % NAMES.length];
      const part = `${name}_parts/part${(i * 7) % PARTS}.py`;
      const [place, file] = i % 4 === 3 ? ["/srv", `target/${part}`] : [VENV, part];
      const isThere = `[ -e ${file} ]`;
      await wait(`cd ${place}; while ${isThere}; do :; done; until ${isThere}; do :; done`);
      const { name: snapshot } = await server.call<{ name: string }>("sandbox.snapshot", {
        sandbox: second,
      });
      const third = await server.create({ from: ["pip-venv", snapshot] });
      const told: Told[] = JSON.parse(await bash(server, third, `/usr/bin/python3 -c '${LOOK}'`));
      const now = told.map(({ name, isVenv, whole, missing, begun, isRecorded }) =>
        `${name} ${
          isVenv ? "venv" : "target"
        }: ${whole.length} whole, ${missing.length} missing, ` +
        `${begun.length} begun${isRecorded ? ", recorded" : ""}`
      );
      console.log(now.join("; "));
      check(told);
      if (told.some(isPart)) caught++;
      await server.call("sandbox.close", { sandbox: third });
      await server.call("snapshot.remove", { name: snapshot });
    }
    await server.call("sandbox.close", { sandbox: second });
    await server.call("sandbox.close", { sandbox: first });
    await server.call("snapshot.remove", { name: "pip-venv" });
  },
});

function isPart({ whole, missing, begun }: Told): boolean {
  return begun.length > 0 || (whole.length > 0 && missing.length > 0);
}

/**
 * pip writes one file after the other, and RECORD when all are there; it removes, and fills a target, by
 * renames.
 */
function check(told: readonly Told[]): void {
  assertEquals(told.flatMap(({ wrong }) => wrong), []);
  assert(told.flatMap(({ begun }) => begun).length <= 1);
  for (const { name, isVenv, isRecorded, whole, missing, begun } of told) {
    if (isRecorded || !isVenv) assertEquals(begun, []);
    if (isVenv) continue;
    for (const top of [`${name}.py`, `${name}_parts/`, `${name}-1.0.dist-info/`]) {
      const isIn = (file: string) => file.startsWith(top);
      assert(!(whole.some(isIn) && missing.some(isIn)), `${top} is there in part`);
    }
  }
}
