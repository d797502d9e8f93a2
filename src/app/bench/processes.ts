/** What processes of this host use, as /proc tells. */

/** What processes use together. */
export interface ProcessesUse {
  readonly processes: number;
  readonly threads: number;
  /** Each page shared by n counts as 1/n; null where one may not be asked. */
  readonly pssBytes: number | null;
  readonly rssBytes: number;
}

/** Reads what some processes and all their descendants use; those that have ended are left out. */
export function readUse(roots: readonly number[]): ProcessesUse {
  const children = readChildren();
  const seen = new Set<number>();
  const visit = (pid: number): void => {
    if (seen.has(pid)) return;
    seen.add(pid);
    for (const child of children.get(pid) ?? []) visit(child);
  };
  roots.forEach(visit);
  let use: ProcessesUse = { processes: 0, threads: 0, pssBytes: 0, rssBytes: 0 };
  for (const pid of seen) {
    const status = readOrNull(`/proc/${pid}/status`);
    if (status === null) continue;
    const pss = readOrNull(`/proc/${pid}/smaps_rollup`);
    use = {
      processes: use.processes + 1,
      threads: use.threads + numberOf(status, "Threads"),
      pssBytes: pss === null || use.pssBytes === null
        ? null
        : use.pssBytes + numberOf(pss, "Pss") * 1024,
      rssBytes: use.rssBytes + numberOf(status, "VmRSS") * 1024,
    };
  }
  return use;
}

/** How many descriptors this process has. */
export function countDescriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

function readChildren(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const { name } of Deno.readDirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readOrNull(`/proc/${name}/stat`) : null;
    if (stat === null) continue;
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    children.set(parent, [...children.get(parent) ?? [], Number(name)]);
  }
  return children;
}

/** ENOENT, ESRCH while it is read, EACCES. */
function readOrNull(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return null;
  }
}

/** A kernel thread, or a process that ends, has no memory. */
function numberOf(text: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
}
