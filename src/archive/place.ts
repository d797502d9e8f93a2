/** Where in an archive the work is, so that an error can name it. */
import { ArchiveError } from "../errors.ts";

/** The archive, the entry and the byte that are being read. */
export class Place {
  /** The archive's name, for people. */
  readonly archive: string;
  /** The name of the entry that is being read, once there is one. */
  entry: Uint8Array | null = null;
  /** Where its header begins in the unpacked stream. */
  offset = 0;

  constructor(archive: string) {
    this.archive = archive;
  }

  /** Makes the error that says why the archive is refused. */
  refuse(state: string, cause?: unknown): ArchiveError {
    const where = this.entry === null
      ? state
      : `entry ${showName(this.entry)} at byte ${this.offset} ${state}`;
    return new ArchiveError(`Cannot unpack ${JSON.stringify(this.archive)}: ${where}`, {
      ...(this.entry === null ? {} : { entry: new TextDecoder().decode(this.entry) }),
      offset: this.offset,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

/** Shows a name in one line: quoted, cut where it is long. */
export function showName(name: Uint8Array): string {
  const text = new TextDecoder().decode(name);
  const quoted = JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
  // A terminal takes these for commands, too, which JSON lets pass.
  return quoted.replace(/[\x7f-\x9f]/g, (code) => `\\u00${code.charCodeAt(0).toString(16)}`);
}
