/** What a worker process does: the only place where hostile archives are taken apart. */
import { parseIdMap, readDescriptor, unpackInto, type UnpackOptions } from "../archive/mod.ts";
import { removeTree } from "../store/mod.ts";
import { formatMessage, toErrorMessage, type WorkerMessage } from "./worker_message.ts";

const STDIN = 0;

/** Progress is told this often at most. */
const PROGRESS_MS = 50;

/** What `__unpack` is told. */
export interface UnpackWork
  extends Pick<UnpackOptions, "name" | "owners" | "limits" | "setuid" | "whiteouts" | "devices"> {
  /** The directory to unpack into. */
  readonly into: string;
}

/** Unpacks the archive on stdin, tells of it on stdout, and gives the exit code. */
export async function unpackStdin(work: UnpackWork): Promise<number> {
  let told = performance.now();
  const onProgress = (progress: number) => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    tell({ progress });
  };
  return await report(async () => {
    const options = { ...work, isMapped: readIdMaps(), onProgress };
    tell({ summary: await unpackInto(work.into, readDescriptor(STDIN), options) });
  });
}

/** Removes trees, tells of a failure on stdout, and gives the exit code. */
export async function removeWork(dirs: readonly string[]): Promise<number> {
  return await report(async () => {
    for (const dir of dirs) await removeTree(dir);
  });
}

async function report(work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return 0;
  } catch (error) {
    tell({ error: toErrorMessage(error) });
    return 1;
  }
}

function tell(message: WorkerMessage): void {
  const bytes = new TextEncoder().encode(formatMessage(message) + "\n");
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function readIdMaps(): (id: number) => boolean {
  const uids = parseIdMap(Deno.readTextFileSync("/proc/self/uid_map"));
  const gids = parseIdMap(Deno.readTextFileSync("/proc/self/gid_map"));
  return (id) => uids(id) && gids(id);
}
