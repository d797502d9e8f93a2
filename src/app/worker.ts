/** What a worker process does: the only place where hostile archives are taken apart. */
import {
  packDirectories,
  type PackedTree,
  type PackNote,
  parseIdMap,
  readDescriptor,
  readFile,
  unpackInto,
  type UnpackOptions,
} from "../archive/mod.ts";
import { copyTree, emptyTree, removeTree } from "../store/mod.ts";
import { EntryListWriter, findFaults } from "../store/upkeep.ts";
import type { PackSettings } from "./pack.ts";
import { readLines } from "./worker_output.ts";
import { formatMessage, toErrorMessage, type WorkerMessage } from "./worker_message.ts";

const STDIN = 0;

/** Progress is told this often at most. */
const PROGRESS_MS = 50;

/** What `__unpack` is told. */
export interface UnpackWork extends
  Pick<
    UnpackOptions,
    "name" | "owners" | "limits" | "setuid" | "whiteouts" | "devices" | "gitIndex"
  > {
  /** The archive's path; null for stdin. */
  readonly archive: string | null;
  /** The directory to unpack into. */
  readonly into: string;
  /** The file to list the entries in; null for none. */
  readonly list: string | null;
}

/** What `__pack` is told. */
export interface PackWork {
  readonly trees: readonly PackedTree[];
  readonly settings: PackSettings;
}

/** Unpacks an archive, tells of it on stdout, and gives the exit code. */
export async function unpackArchive(work: UnpackWork): Promise<number> {
  let told = performance.now();
  const onProgress = (progress: number) => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    tell({ progress });
  };
  return await report(async () => {
    const { archive, into, list: path, ...rest } = work;
    using list = path === null ? null : new EntryListWriter(path);
    const onEntry = list === null ? {} : { onEntry: list.add };
    const options = { ...rest, isMapped: readIdMaps(), onProgress, ...onEntry };
    const input = archive === null ? readDescriptor(STDIN) : readFile(archive);
    const summary = await unpackInto(into, input, options);
    list?.finish();
    tell({ summary, diskBytes: list?.diskBytes ?? 0 });
  });
}

/** Compares a layer with its list, tells of each fault on stdout, and gives the exit code. */
export async function verifyTree(root: string, list: string): Promise<number> {
  return await report(() => {
    let told = performance.now();
    const onProgress = (progress: number) => {
      if (performance.now() - told < PROGRESS_MS) return;
      told = performance.now();
      tell({ progress });
    };
    for (const fault of findFaults(root, Deno.readFileSync(list), onProgress)) tell({ fault });
    return Promise.resolve();
  });
}

/** Packs trees to stdout, tells of them on stderr, and gives the exit code. */
export async function packStdout(work: PackWork): Promise<number> {
  const say = (message: WorkerMessage) => tell(message, Deno.stderr);
  return await report(async () => {
    const onNote = ({ name, state }: PackNote) => say({ note: `${name} ${state}` });
    for await (const chunk of packDirectories(work.trees, { ...work.settings, onNote })) {
      for (let at = 0; at < chunk.length;) at += Deno.stdout.writeSync(chunk.subarray(at));
    }
  }, say);
}

/** Removes trees, tells of a failure on stdout, and gives the exit code. */
export async function removeWork(dirs: readonly string[]): Promise<number> {
  return await report(async () => {
    for (const dir of dirs) await removeTree(dir);
  });
}

/** Empties directories, tells of a failure on stdout, and gives the exit code. */
export async function emptyWork(dirs: readonly string[]): Promise<number> {
  return await report(async () => {
    for (const dir of dirs) await emptyTree(dir);
  });
}

/** What `__copy` is asked for, one JSON object a line. */
export interface CopyWork {
  readonly copy: number;
  /** Pairs of a tree and an empty directory. */
  readonly pairs: readonly (readonly [from: string, to: string])[];
}

/** Copies what it is asked to on stdin, one after the other, until that ends. */
export async function copyOnDemand(): Promise<number> {
  for await (const line of readLines(Deno.stdin.readable)) {
    const { copy, pairs }: CopyWork = JSON.parse(line);
    try {
      const copied = [];
      for (const [from, to] of pairs) copied.push(await copyTree(from, to));
      tell({ copy, result: copied });
    } catch (error) {
      tell({ copy, result: toErrorMessage(error) });
    }
  }
  return 0;
}

/** Does work, tells of a failure, and gives the exit code. */
export async function report(work: () => Promise<void>, say = tell): Promise<number> {
  try {
    await work();
    return 0;
  } catch (error) {
    say({ error: toErrorMessage(error) });
    return 1;
  }
}

/** Tells one message. */
export function tell(message: WorkerMessage, stream: typeof Deno.stdout = Deno.stdout): void {
  const bytes = new TextEncoder().encode(formatMessage(message) + "\n");
  for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
}

function readIdMaps(): (id: number) => boolean {
  const uids = parseIdMap(Deno.readTextFileSync("/proc/self/uid_map"));
  const gids = parseIdMap(Deno.readTextFileSync("/proc/self/gid_map"));
  return (id) => uids(id) && gids(id);
}
