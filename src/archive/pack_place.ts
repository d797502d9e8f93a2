/** Where in a tree the packing is, so that an error can name it. */
import { ArchiveError } from "../errors.ts";
import { fromByteText } from "./byte_text.ts";
import { showName } from "./place.ts";

/** The tree, and the file that is being read. */
export class PackPlace {
  /** What is packed, for people. */
  readonly tree: string;
  /** The file's path as text with one character a byte. */
  path = "";

  constructor(tree: string) {
    this.tree = tree;
  }

  /** Makes the error that says why a file cannot be packed. */
  refuse(state: string, remedy?: string): ArchiveError {
    return new ArchiveError(`${this.describe()} ${state}`, {
      entry: new TextDecoder().decode(fromByteText(this.path)),
      ...(remedy === undefined ? {} : { remedy }),
    });
  }

  /** Begins the message of an error. */
  describe(): string {
    return `Cannot pack ${JSON.stringify(this.tree)}: entry ${this.name}`;
  }

  /** The file's path, quoted. */
  get name(): string {
    return showName(fromByteText(this.path));
  }
}
