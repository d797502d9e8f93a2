/** The ways to unpack an archive that are compared. */
import { PROGRAM } from "./peer/minisandbox.ts";

/** A way to unpack an archive into a directory that is not there yet. */
export interface Unpacker {
  readonly name: string;
  readonly what: string;
  readonly argv: (archive: string, dir: string) => readonly string[];
}

/** The name of ours. */
export const OURS = "minisandbox";

const PYTHON = `import sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    archive.extractall(sys.argv[2], filter="tar")`;

/** Ours and its peers. */
export const UNPACKERS: readonly Unpacker[] = [
  {
    name: OURS,
    what: "layer import: start, SHA-256, confined worker, syncfs",
    argv: (archive, dir) => [
      ...[PROGRAM, "layer", "import", "--quiet", "--json", "--store", dir],
      `${archive}:/opt/venv`,
    ],
  },
  { name: "GNU tar", what: "tar -xzf", argv: shell("tar -xzf") },
  {
    name: "GNU tar, synced",
    what: "tar -xzf, then sync -f",
    argv: shell("tar -xzf", '&& sync -f "$2"'),
  },
  { name: "bsdtar", what: "bsdtar -xf", argv: shell("bsdtar -xf") },
  {
    name: "Python tarfile",
    what: 'extractall(filter="tar")',
    argv: (archive, dir) => ["python3", "-I", "-c", PYTHON, archive, dir],
  },
];

function shell(command: string, then = ""): Unpacker["argv"] {
  const script = `mkdir "$2" && ${command} "$1" -C "$2" ${then}`;
  return (archive, dir) => ["sh", "-c", script, "sh", archive, dir];
}
