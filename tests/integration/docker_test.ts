/** Tests of what works inside a Docker container, and of what is said where nothing can. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Finding } from "../../src/app/doctor/mod.ts";
import { debianRootTar } from "../support/debian_root.ts";
import { DockerDaemon, type Ended, findCgroups, PLACES } from "../support/docker.ts";
import { makePytest } from "../support/venv.ts";
import { requires } from "../support/requirement.ts";

const IMAGE = "debian-root";

/** What the image does without: it is imported the faster. */
const LEFT_OUT = ["./var/cache/apt/*", "./var/lib/apt/lists/*", "./usr/share/locale/*"];

const UNFILTERED = ["--security-opt", "seccomp=unconfined"];
const UNCOVERED = ["--security-opt", "systempaths=unconfined"];
const ADMIN = ["--cap-add", "SYS_ADMIN"];
const WITHOUT_USERNS = [...ADMIN, "--cap-add", "NET_ADMIN", "--cap-add", "SYS_PTRACE"];
const CGROUPS = ["--cgroupns", "host", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup"];

const remedy = (store: string) =>
  "Start the container by: docker run --security-opt seccomp=unconfined --security-opt " +
  `systempaths=unconfined ${store} …; --cap-add SYS_ADMIN can stand in place of ` +
  "seccomp=unconfined.";
const REMEDY = remedy("-v minisandbox:/var/lib/minisandbox");

const PROC = 'Cannot mount a proc that shows nobody: mount("proc", "t/proc", "proc", ' +
  "MS_NOSUID|MS_NODEV|MS_NOEXEC, NULL): EPERM (Operation not permitted)";

/** Containers in which nothing can be made, and the one line that says why. */
const REFUSED: Readonly<Record<string, readonly [options: readonly string[], line: string]>> = {
  "as it is by default": [
    [],
    `Cannot make a user namespace: ENOSYS (Function not implemented). ${REMEDY}`,
  ],
  "for a user as it is by default": [
    ["--user", "1000", "--env", "MINISANDBOX_STORE=/data/refused"],
    "Cannot make a user namespace: ENOSYS (Function not implemented). " +
    remedy("--tmpfs /store:mode=1777 -e MINISANDBOX_STORE=/store/own"),
  ],
  "whose /proc is covered": [UNFILTERED, `${PROC}. ${REMEDY}`],
  "whose /proc is covered, with CAP_SYS_ADMIN": [ADMIN, `${PROC}. ${REMEDY}`],
};

/** Who runs the tests of other modes in which container. */
const SUITES: Readonly<Record<string, Suite>> = {
  "by root, with and without user namespaces": {
    options: [...WITHOUT_USERNS, ...UNCOVERED, ...CGROUPS],
    // Here pivot_root is refused, and the host's mounts stay below.
    files: ["integration/mode", "escape/mount"],
  },
  "by root who has no CAP_SYS_ADMIN": {
    options: [...UNFILTERED, ...UNCOVERED],
    files: ["integration/inside_report", "integration/doctor"],
  },
  "by a user with subordinate ids": {
    options: [...UNFILTERED, ...UNCOVERED],
    files: ["integration/mode", "integration/inside_report"],
    user: "useradd --uid 1000 ada",
  },
  "by any other user": {
    options: [...ADMIN, ...UNCOVERED],
    files: ["integration/mode"],
    user: "true",
  },
};

/** The container has the host's programs, where the image has but few. */
const HOST_USR = [
  "/usr",
  ...[...Deno.readDirSync("/etc")].map(({ name }) => name)
    .filter((name) => /^(alternatives|ssl|java-.*)$/.test(name)).map((name) => `/etc/${name}`),
].flatMap((dir) => ["--volume", `${dir}:${dir}:ro`]);

/** So many programs at least, in both ways. */
const PROGRAMS = 80;

/**
 * Of the reports, those in which all is as usual: Docker makes no difference to the others. It has no
 * pivot_root to show that it works outside.
 */
const TESTS = String
  .raw`/^(?!what a program is|.* by pivot_root$)|inside_(?:root|subordinate)\.txt/`;

interface Suite {
  readonly options: readonly string[];
  readonly files: readonly string[];
  /** Which of their tests, if not the usual. */
  readonly filter?: string;
  /** Set for an ordinary user: what root does before. */
  readonly user?: string;
}

Deno.test({
  name: "in a Docker container",
  // Its users are all here, so it serves for all.
  ...(Deno.uid() === 0 ? requires("docker", "debootstrap", "bsdtar") : { ignore: true }),
  fn: async (test) => {
    const dir = await Deno.makeTempDir({ prefix: "minisandbox-docker-" });
    const before = traces();
    try {
      await using daemon = await DockerDaemon.start(dir);
      await daemon.import(await imageTar(), IMAGE);
      for (const [name, [options, line]] of Object.entries(REFUSED)) {
        await test.step(`run is refused with the remedy in one ${name}`, async () => {
          const { code, stdout, stderr } = await daemon.run(IMAGE, options, minisandbox("run"));
          assertEquals([code, stdout, stderr], [125, "", `minisandbox: ${line}\n`]);
        });
      }
      await test.step("run says what a store in the container's own overlay needs", async () => {
        const options = [...UNFILTERED, ...UNCOVERED];
        const { code, stderr } = await daemon.run(IMAGE, options, minisandbox("run"));
        assertEquals(code, 125);
        assertMatch(
          stderr,
          /: it lies on overlay\. Keep the store outside .*: docker run -v \S+ …;/,
        );
      });
      for (const user of ["0", "1000"]) {
        await test.step(`what run says of the container helps user ${user}`, async () => {
          const as = ["--user", user];
          const wish = ["--env", `MINISANDBOX_STORE=/data/helped-${user}`];
          const { stderr } = await daemon.run(IMAGE, [...as, ...wish], minisandbox("run"));
          const options = /docker run (.*) …;/.exec(stderr)![1]!.split(" ");
          const helped = await daemon.run(IMAGE, [...as, ...options], minisandbox("run"));
          assertEquals(helped, { code: 0, stdout: "", stderr: "" });
        });
      }
      await test.step("doctor finds what the container lacks", async () => {
        const { code, stdout } = await daemon.run(IMAGE, [], minisandbox("doctor", "--json"));
        assertEquals(code, 1);
        const findings = JSON.parse(stdout) as Finding[];
        const failed = findings.filter(({ status }) => status === "FAIL");
        const names = ["system calls", "container", "user namespaces", "holder", "a sandbox"];
        assertEquals(failed.map(({ check }) => check), names);
        assertEquals(new Set(failed.map(({ remedy }) => remedy)), new Set([REMEDY]));
      });
      await test.step("programs people run work by root, with and without user namespaces", async () => {
        await makePytest(`${daemon.data}/pytest`);
        const pytest = ["--env", `MINISANDBOX_TEST_PYTEST=${PLACES.data}/pytest`];
        const { code, stdout, stderr } = await runSuite(daemon, {
          options: [...pytest, ...WITHOUT_USERNS, ...UNCOVERED, ...HOST_USR],
          files: ["integration/program"],
          filter: "/^on the host's programs/",
        });
        assertEquals(code, 0, stdout + stderr);
        const passed = Number(/^ok \| (\d+) passed/m.exec(stdout)?.[1]);
        assert(passed >= PROGRAMS, stdout);
      });
      const suites = Object.values(SUITES).map((suite) => runSuite(daemon, suite));
      for (const [i, { code, stdout, stderr }] of (await Promise.all(suites)).entries()) {
        await test.step(`what is tested elsewhere works ${Object.keys(SUITES)[i]}`, () => {
          assertEquals(code, 0, stdout + stderr);
          assertMatch(stdout, /^ok \| \d+ passed.* 0 failed/m);
        });
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
    assertEquals(traces(), before);
  },
});

function minisandbox(command: "run" | "doctor", ...args: readonly string[]): string[] {
  return [
    PLACES.program,
    command,
    ...args,
    ...(command === "run" ? ["--quiet", "--", "true"] : []),
  ];
}

/** Runs files of this suite by the user of the container, on the program under test. */
async function runSuite(daemon: DockerDaemon, suite: Suite): Promise<Ended> {
  const { options, files, user, filter = TESTS } = suite;
  const variables = {
    DENO_DIR: PLACES.cache,
    HOME: PLACES.data,
    MINISANDBOX_BIN: PLACES.program,
    MUST_RUN: "1",
    NO_COLOR: "1",
    TMPDIR: PLACES.data,
  };
  const env = Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const tests = files.map((name) => `tests/${name}_test.ts`);
  const deno = [PLACES.deno, "test", "--allow-all", "--no-check", "--filter", filter, ...tests];
  const become = `${user} && exec setpriv --reuid=1000 --regid=1000 --clear-groups "$@"`;
  const command = user === undefined ? deno : ["sh", "-c", become, "sh", ...deno];
  return await daemon.run(IMAGE, [...options, ...env, "--workdir", PLACES.checkout], command);
}

/** Gives a root file system, as a stream. */
async function imageTar(): Promise<ReadableStream<Uint8Array>> {
  const tar = await debianRootTar();
  const left = LEFT_OUT.flatMap((path) => ["--exclude", path]);
  const child = new Deno.Command("bsdtar", {
    args: ["-cf", "-", ...left, `@${tar}`],
    stdout: "piped",
  })
    .spawn();
  return child.stdout;
}

/** What a daemon could leave on this host: mounts, cgroups, and files in the usual places. */
function traces(): unknown {
  const list = (dir: string) => {
    try {
      return [...Deno.readDirSync(dir)].map(({ name }) => name).sort();
    } catch {
      return null;
    }
  };
  const mounts = Deno.readTextFileSync("/proc/self/mountinfo").split("\n")
    .filter((line) => line.includes("docker"));
  const places = ["/etc/docker", "/run/docker", "/run/containerd", "/var/lib/docker"];
  return { mounts, cgroups: findCgroups("docker"), places: places.map(list) };
}
