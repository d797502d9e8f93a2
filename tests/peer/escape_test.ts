/** The same attacks on the host, in the published recipe, in bubblewrap, and here: SECURITY.md's table. */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { join } from "@std/path/join";
import { ROOT } from "../../tools/checkout.ts";
import { program, PYTHON } from "../support/attack.ts";
import { identity } from "../support/identity.ts";
import {
  attackProgram,
  commandIn,
  type Peer,
  PEER_ATTACKS,
  PEERS,
  type Target,
} from "../support/peer_attack.ts";
import { readUntil } from "../support/read_until.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Holds a port, an abstract socket and shared memory of the host until its stdin ends. */
const SERVER = program(`
name = f"minisandbox-test-{os.getpid()}"
tcp = socket.create_server(("127.0.0.1", 0), backlog=100)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0" + name)
abstract.listen(100)
key = 0x10000000 | int.from_bytes(os.urandom(3), "big")
memory = check(libc.shmget(key, 4096, 0o1600))
print(f"{tcp.getsockname()[1]} {name} {key}", flush=True)
sys.stdin.read()
libc.shmctl(memory, 0, None)`);

const GOT_THROUGH = "ok";
const BEGIN = "<!-- attacks: begin -->\n";
const END = "<!-- attacks: end -->\n";

/** What an attack printed, by sandbox; of those that act on the host, what came of them. */
type Answers = Readonly<Record<Peer, readonly string[]>>;

Deno.test({
  name: "the table of SECURITY.md says what the recipe, bubblewrap and minisandbox let through",
  ignore: identity() !== "root" || requires("bwrap", "unshare", "python3").ignore,
  fn: async () => {
    const answers = await attackAll();
    assertEquals(
      answers.host.map((answer, i) => `${PEER_ATTACKS[i]!.deed}: ${answer}`),
      PEER_ATTACKS.map(({ deed }) => `${deed}: ok`),
      "on the host each attack works",
    );
    const path = join(ROOT, "SECURITY.md");
    const text = await Deno.readTextFile(path);
    const [before = "", rest = ""] = text.split(BEGIN);
    const [table = "", after = ""] = rest.split(END);
    const current = render(answers);
    if (Deno.env.get("UPDATE_GOLDEN") === "1") {
      await Deno.writeTextFile(path, before + BEGIN + current + END + after);
    }
    assertEquals(words(table), words(current));
    assertEquals(answers.minisandbox.filter((answer) => answer === GOT_THROUGH), []);
  },
});

async function attackAll(): Promise<Answers> {
  using temp = tempDir();
  const victim = new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn();
  const server = new Deno.Command(PYTHON, {
    args: ["-c", SERVER],
    ...{ stdin: "piped", stdout: "piped", stderr: "inherit" },
  }).spawn();
  const reader = server.stdout.getReader();
  const [port, socket, key] = (await readUntil(reader, "\n")).trim().split(" ");
  const hidden = Deno.makeTempDirSync({ dir: "/srv", prefix: "minisandbox-test-" });
  const home = Deno.makeTempFileSync({ dir: "/root", prefix: "minisandbox-test-" });
  const data = `${temp.path}/data`;
  try {
    Deno.mkdirSync(data);
    for (const path of [`${hidden}/canary`, `${data}/file`, `${temp.path}/tmp`, home]) {
      Deno.writeTextFileSync(path, "precious");
    }
    Deno.mkdirSync(`${temp.path}/tmp.d`);
    const target: Target = {
      ...{ pid: victim.pid, hidden, tmp: `${temp.path}/tmp`, home, data },
      ...{ port: Number(port), socket: socket!, key: Number(key), hostname: Deno.hostname() },
      uts: Deno.readLinkSync("/proc/self/ns/uts"),
      mark: `minisandbox-mark-${crypto.randomUUID()}`,
      watchers: Number(Deno.readTextFileSync("/proc/sys/fs/inotify/max_user_instances")),
    };
    const answers: Record<string, readonly string[]> = {};
    for (const peer of Object.keys(PEERS) as Peer[]) {
      answers[peer] = await attackIn(peer, target, temp.path);
    }
    return answers as Answers;
  } finally {
    victim.kill("SIGKILL");
    await server.stdin.close();
    await reader.cancel();
    await Promise.all([victim.status, server.status]);
    Deno.removeSync(hidden, { recursive: true });
    Deno.removeSync(home);
  }
}

async function attackIn(peer: Peer, target: Target, scratch: string): Promise<readonly string[]> {
  const input = `${scratch}/input`;
  Deno.writeTextFileSync(input, "precious");
  Deno.chmodSync(input, 0o666);
  const root = `${scratch}/root-${peer}`;
  Deno.mkdirSync(root);
  const command = [...commandIn(peer, { root, data: target.data }), attackProgram(target)];
  const { stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", `exec "$@" <${input}`, "bash", ...command],
    env: { MINISANDBOX_TEST_TOKEN: "x" },
  }).output();
  const printed = new TextDecoder().decode(stdout);
  if (!printed.startsWith("[")) {
    throw new Error(`Cannot attack ${peer}: ${printed}${new TextDecoder().decode(stderr)}`);
  }
  const answers: string[] = JSON.parse(printed);
  const set = (deed: string, isThrough: boolean) => {
    const i = PEER_ATTACKS.findIndex((it) => it.deed === deed);
    answers[i] = isThrough ? GOT_THROUGH : "nothing";
  };
  set(
    "write a file that it was given to read as stdin",
    Deno.readTextFileSync(input) !== "precious",
  );
  set("outlive its sandbox", await outlives(target.mark));
  return answers;
}

/** So long the dying may take that are still there when their sandbox has ended. */
const DYING_MS = 2000;

/** Says whether a process that carries the mark stays, and ends it. */
async function outlives(mark: string): Promise<boolean> {
  for (const until = performance.now() + DYING_MS; performance.now() < until;) {
    if (marked(mark).length === 0) return false;
    await delay(20);
  }
  const left = marked(mark);
  for (const pid of left) Deno.kill(pid, "SIGKILL");
  return left.length > 0;
}

function marked(mark: string): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => {
    if (Number.isNaN(pid)) return false;
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).endsWith(`${mark}\0`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound) && !/os error 3\)/.test(String(error))) {
        throw error;
      }
      return false; // it has ended
    }
  });
}

function render(answers: Answers): string {
  const peers = (["recipe", "bwrap", "minisandbox"] as const).map((peer) =>
    [peer, PEERS[peer]] as const
  );
  const row = (...cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const show = (answer: string | undefined) => answer === GOT_THROUGH ? "**yes**" : "no";
  const rows = PEER_ATTACKS.map(({ deed }, i) =>
    row(deed, ...peers.map(([peer]) => show(answers[peer][i])))
  );
  const count = (peer: Peer) => String(answers[peer].filter((it) => it === GOT_THROUGH).length);
  return "\n" + row("a program inside can", ...peers.map(([, name]) => name)) +
    row(...["", "", "", ""].map(() => "---")) + rows.join("") +
    row(`of ${PEER_ATTACKS.length}`, ...peers.map(([peer]) => count(peer))) + "\n";
}

/** A table's words, whatever its columns are padded with. */
function words(table: string): string[] {
  return table.split("\n").map((line) => line.replace(/-+/g, "-").replace(/\s+/g, " ").trim());
}
