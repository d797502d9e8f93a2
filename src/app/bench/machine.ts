/** The machine that is measured on, and what else it does. */
import { delay } from "@std/async/delay";
import { HostError } from "../../errors.ts";
import { run } from "./child.ts";

/** Facts that numbers depend on. */
export function machineFacts(scratch: string): Record<string, string | number> {
  const info = Deno.readTextFileSync("/proc/cpuinfo");
  const model = /^model name\s*:\s*(.*)$/m.exec(info)?.[1] ?? Deno.build.arch;
  return {
    processors: navigator.hardwareConcurrency,
    processor: model,
    memory: `${Math.round(Deno.systemMemoryInfo().total / 2 ** 30)} GiB`,
    kernel: Deno.osRelease(),
    user: Deno.uid() === 0 ? "root" : "ordinary",
    "file system": fileSystemOf(scratch),
  };
}

/** Who else uses the processors, by a look of half a second at which we do nothing. */
const LOOK_MS = 500;

/** Above this share of all processors others disturb what we measure. */
const QUIET_SHARE = 0.1;

/** How busy others are. */
export interface Business {
  readonly load: number;
  /** Of all processors, 0 to 1. */
  readonly share: number;
}

/** Looks. */
export async function readBusiness(): Promise<Business> {
  const before = readProcessors();
  await delay(LOOK_MS);
  const after = readProcessors();
  const total = after.total - before.total;
  const share = total === 0 ? 0 : (after.busy - before.busy) / total;
  return { load: Deno.loadavg()[0]!, share };
}

/** Says that the machine is busy; nothing if it is not. */
export function toWarnings(looks: readonly Business[]): string[] {
  const worst = Math.max(...looks.map(({ share }) => share));
  if (worst <= QUIET_SHARE) return [];
  const percent = Math.round(worst * 100);
  return [
    `busy machine: others used ${percent}% of its processors between measurements: look at the ` +
    "ratios and minima, not at the medians",
  ];
}

/** Forgets what files hold: the next reader reads the disk. @throws {HostError} Unless root. */
export async function dropCaches(): Promise<void> {
  await run(["sync"]);
  try {
    await Deno.writeTextFile("/proc/sys/vm/drop_caches", "3", { create: false });
  } catch (cause) {
    throw new HostError("Cannot drop the page cache: it needs root of the host", {
      remedy: "Leave --cold away.",
      cause,
    });
  }
}

function readProcessors(): { readonly busy: number; readonly total: number } {
  const [line = ""] = Deno.readTextFileSync("/proc/stat").split("\n");
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] = line
    .split(/\s+/).slice(1).map(Number); // proc_stat(5)
  const busy = user + nice + system + irq + soft + steal;
  return { busy, total: busy + idle + wait };
}

/** The mount that holds a path is the one with the longest path above it. */
function fileSystemOf(path: string): string {
  const rows = Deno.readTextFileSync("/proc/self/mounts").trim().split("\n")
    .map((line) => line.split(" "))
    .filter(([, at = ""]) => at === "/" || path === at || path.startsWith(`${at}/`));
  const deepest = rows.reduce((best, row) => row[1]!.length >= best[1]!.length ? row : best);
  return deepest[2]!;
}
