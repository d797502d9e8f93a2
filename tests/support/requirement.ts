/** What a test needs of this machine: without it the test is skipped, or fails where it must run. */
import { CONTROLLERS } from "../../src/sandbox/cgroup/hierarchy.ts";
import { CgroupParent } from "../../src/sandbox/cgroup/parent.ts";

/** Says whether this machine has each thing that a test may need. */
const PROBES = {
  cc: () => isInstalled("gcc"),
  "aarch64-cc": () => isInstalled("aarch64-linux-gnu-gcc"),
  as: () => isInstalled("as"),
  "aarch64-as": () => isInstalled("aarch64-linux-gnu-as"),
  bsdtar: () => isInstalled("bsdtar"),
  debootstrap: () => isInstalled("debootstrap"),
  bwrap: () => isInstalled("bwrap"),
  cgroups: () => {
    const parent = new CgroupParent();
    return CONTROLLERS.every((name) => parent.find(name) !== null);
  },
  git: () => isInstalled("git"),
  python3: () => isInstalled("python3"),
  // A Python can lack pip and venv: Debian packs them apart.
  venv: () => succeeds("python3", "-c", "import ensurepip, venv"),
  less: () => isInstalled("less"),
  script: () => isInstalled("script"),
  unshare: () => isInstalled("unshare"),
  debian: () => isInstalled("dpkg-deb") && isInstalled("apt-get"),
  qemu: () => isInstalled("qemu-system-x86_64"),
  docker: () => isInstalled("dockerd") && isInstalled("docker"),
  busybox: () => isInstalled("busybox"),
  cpio: () => isInstalled("cpio"),
  userns: () => succeeds("unshare", "--user", "--map-root-user", "true"),
} as const satisfies Record<string, () => boolean>;

/** A thing that a test may need. */
export type Requirement = keyof typeof PROBES;

const found = new Map<Requirement, boolean>();

/**
 * Gives the part of a test's definition that skips it where something is missing. With `MUST_RUN=1` a
 * failing test stands for each missing thing.
 */
export function requires(...needs: readonly Requirement[]): { readonly ignore: boolean } {
  return { ignore: !needs.map(has).every((isThere) => isThere) };
}

/** Gives the part of a test's definition that skips it where a program is missing that may be. */
export function ifInstalled(...programs: readonly string[]): { readonly ignore: boolean } {
  return { ignore: !programs.every(isInstalled) };
}

function has(need: Requirement): boolean {
  const known = found.get(need);
  if (known !== undefined) return known;
  const isThere = PROBES[need]();
  found.set(need, isThere);
  if (!isThere && Deno.env.get("MUST_RUN") === "1") {
    Deno.test(`this machine has ${need}, which tests must have`, () => {
      throw new Error(`Cannot find ${need}. Install what .ci/run installs.`);
    });
  }
  return isThere;
}

function isInstalled(program: string): boolean {
  return (Deno.env.get("PATH") ?? "").split(":").some((dir) => {
    try {
      return Deno.statSync(`${dir}/${program}`).isFile;
    } catch {
      return false;
    }
  });
}

function succeeds(program: string, ...args: readonly string[]): boolean {
  try {
    return new Deno.Command(program, { args: [...args] }).outputSync().success;
  } catch {
    return false;
  }
}
