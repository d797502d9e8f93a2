/** How a worker gets an archive: so that what takes it apart can read the file, and change nothing of it. */
import type { Bind, Identity } from "../sandbox/mod.ts";
import { bind } from "./worker_base.ts";

/** Where a worker finds an archive that is shown to it. */
const ARCHIVE = "/archive";

/** What a worker is started with. */
export interface ArchiveInput {
  readonly args: readonly string[];
  readonly binds: readonly Bind[];
  readonly stdin?: string;
}

/**
 * Gives an archive to a worker. To the owner of a file any descriptor of it is enough to change its
 * mode and times: where the worker's ids hold the owner, it gets none, but a read-only mount.
 *
 * @param archive Its absolute path, without links.
 * @param owner The host's id of who owns it.
 */
export function archiveInput(archive: string, owner: number, { uids }: Identity): ArchiveInput {
  const isHeld = uids.some(({ outside, count }) => owner >= outside && owner < outside + count);
  if (!isHeld) return { args: [], binds: [], stdin: archive };
  return {
    args: ["--archive", ARCHIVE],
    binds: [bind(archive, ARCHIVE, { isDirectory: false })],
  };
}
