/**
 * Tests that a server does not grow, and that nothing is left whoever is killed. `MINISANDBOX_TEST_SOAK`
 * and `MINISANDBOX_TEST_CHAOS` say how many sandboxes and how many kills; a night's run has 20,000.
 */
import { assert, assertEquals } from "@std/assert";
import { pooledMap } from "@std/async/pool";
import { assertNothingLeft, minisandbox, sharedStore } from "../support/minisandbox.ts";
import { randomFrom } from "../support/random.ts";
import { childrenOf, TestServer } from "../support/rpc_client.ts";
import { adoptOrphans, awaitNoDescendants } from "../support/descendants.ts";

const SOAK = Number(Deno.env.get("MINISANDBOX_TEST_SOAK") ?? 600);
const CHAOS = Number(Deno.env.get("MINISANDBOX_TEST_CHAOS") ?? 60);
const SEED = Number(Deno.env.get("MINISANDBOX_TEST_SEED") ?? Date.now() % 1_000_000);

/** So many live at the same time. */
const AT_ONCE = 64;
const SAMPLES = 10;

/** What the garbage collector may leave between the second sample and the last, in MB. */
const SLACK_MB = 96;

const DEADLINE_MS = 30_000;

interface Sample {
  readonly descriptors: number;
  readonly threads: number;
  readonly rssMb: number;
  readonly children: number;
  readonly runs: number;
  readonly cgroups: number;
  readonly mounts: number;
}

/** What is made in advance for a sandbox: its init, a namespace and a lock. */
const FILES_READY = 3;

/** What a server holds when it has done all it does while nothing is asked, without what is ready. */
async function sample(server: TestServer): Promise<Sample> {
  const { process, sandboxes: { ready } } = await server.whenReady();
  const { pid } = server.child;
  return {
    descriptors: process.openFiles - ready * FILES_READY,
    threads: process.threads,
    rssMb: Math.round(process.residentBytes / 2 ** 20),
    children: childrenOf(server).length - ready,
    runs: [...Deno.readDirSync(`${sharedStore()}/runs`)].length - ready,
    cgroups: countCgroups(pid),
    mounts: Deno.readTextFileSync(`/proc/${pid}/mountinfo`).trim().split("\n").length,
  };
}

/** The cgroups that a server has made, where they can be seen. */
function countCgroups(pid: number): number {
  const dirs = Deno.readTextFileSync(`/proc/${pid}/cgroup`).trim().split("\n").map((line) => {
    const [, controllers = "", path = ""] = line.split(":");
    return `/sys/fs/cgroup${controllers === "" ? "" : `/${controllers}`}${path}`;
  });
  return dirs.reduce((sum, dir) => sum + countNamed(dir, `minisandbox-${pid}-`), 0);
}

function countNamed(dir: string, prefix: string): number {
  try {
    return [...Deno.readDirSync(dir)].filter(({ name }) => name.startsWith(prefix)).length;
  } catch {
    return 0; // another form of hierarchy
  }
}

Deno.test(`${SOAK} sandboxes of a server, ${AT_ONCE} at once, leave it as it was`, async () => {
  await using server = new TestServer();
  const use = async (number: number) => {
    const sandbox = await server.create({ labels: { number: String(number) } });
    if (number % 4 === 0) {
      await server.call("session.create", { sandbox });
      const ran = await server.call<{ output: { text: string } }>("session.run", {
        sandbox,
        command: `sleep 100 & cd /tmp; echo ${number} > f; cat f`,
      });
      assertEquals(ran.output.text, `${number}\n`);
    } else {
      const ran = await server.run(sandbox, `setsid sleep 100 & echo ${number}`);
      assertEquals(ran.stdout.text, `${number}\n`);
    }
    assertEquals(await server.call("sandbox.close", { sandbox }), { closed: true });
  };
  const samples: Sample[] = [];
  for (let part = 0; part < SAMPLES; part++) {
    const size = Math.ceil(SOAK / SAMPLES);
    const numbers = Array.from({ length: size }, (_, i) => part * size + i);
    for await (const _ of pooledMap(AT_ONCE, numbers, use)) { /* done */ }
    samples.push(await sample(server));
  }
  console.table(samples);
  const [, second] = samples as [Sample, Sample];
  const last = samples.at(-1)!;
  const { rssMb: _, threads, ...rest } = last;
  const { rssMb: __, threads: ___, ...before } = second;
  assertEquals(rest, before);
  assert(threads <= 10, `${threads} threads`);
  assert(last.rssMb - second.rssMb < SLACK_MB, `from ${second.rssMb} to ${last.rssMb} MB`);
});

adoptOrphans();

Deno.test(`after ${CHAOS} kills of servers, inits and shells nothing is left (seed ${SEED})`, async () => {
  const below = randomFrom(SEED);
  let kills = 0;
  while (kills < CHAOS) {
    const server = new TestServer();
    await server.call("initialize");
    const jobs = Array.from({ length: 8 }, async (_, i) => {
      for (;;) {
        const sandbox = await server.create();
        const { pid } = await server.call<{ pid: number }>("sandbox.info", { sandbox });
        await server.call("session.create", { sandbox });
        const running = server.call("session.run", {
          sandbox,
          command: "sleep 0.05; ps ax >/dev/null",
        });
        const other = server.run(sandbox, "setsid sleep 100 & sleep 0.02");
        if (below(2) === 0) {
          kills++;
          if (i % 2 === 0) kill(pid);
          else server.run(sandbox, "kill -9 -1").catch(() => {});
        }
        await Promise.allSettled([running, other]);
        await server.call("sandbox.close", { sandbox });
      }
    });
    for (const job of jobs) job.catch(() => {}); // the server is killed under them
    const until = 3 + below(10);
    const before = kills;
    while (kills - before < until && kills < CHAOS) await server.call("metrics").catch(() => {});
    kills++;
    server.child.kill("SIGKILL");
    await server.end();
    await Promise.allSettled(jobs);
    await awaitNoDescendants(DEADLINE_MS);
  }
  assertEquals((await minisandbox(["run", "--quiet", "--", "true"])).code, 0); // it sweeps
  assertNothingLeft(sharedStore());
  const mounts = Deno.readTextFileSync("/proc/self/mountinfo").split("\n");
  assertEquals(mounts.filter((line) => line.includes("minisandbox")), []);
});

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
