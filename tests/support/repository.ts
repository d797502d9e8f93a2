/** A repository of real source, this machine's Python library, and edits as people make them. */
import { run } from "./worst_tree.ts";

const PACKAGES = ["asyncio", "email", "http", "json", "logging", "unittest", "xml"];

/** Files of the kinds that diffs find hard. */
const MORE = `
  mkdir -p more/dir more/to-file; cd more
  for i in $(seq 400); do printf 'line %d\\r\\n' $i; done >crlf.txt; printf 'one\\ntwo\\nno end' >open.txt
  head -c 20000 /dev/urandom >image.bin; printf 'caf\\351\\nlatin\\n' >latin.txt; : >empty; seq 9 >filled
  echo a >'with space'; echo a >$'tab\\tquote"'; echo a >'naïve ☃.txt'; echo '#!/bin/sh' >run; echo x >plain
  ln -s plain link; echo f >to-link; echo f >dir/f; echo g >to-file/g; seq 3000 >numbers; echo gone >gone
`;

/** What changes them, run inside their directory; it needs nothing but these programs. */
const CHANGE_MORE = `
  sed -i '1,3d;200s/line/row/' crlf.txt; printf 'one\\ntwo\\nno end\\nthree' >open.txt; printf '\\0x' >>image.bin
  printf 'caf\\351\\nlatin 1\\n' >latin.txt; echo x >empty; : >filled; echo b >>'with space'; echo b >>$'tab\\tquote"'
  mv 'naïve ☃.txt' 'naïf ☃.txt'; echo b >>'naïf ☃.txt'; chmod 755 run; chmod 755 plain; echo y >>plain
  ln -sfn empty link; rm to-link; ln -s plain to-link; rm -r to-file; echo file >to-file; rm gone
  sed 's/$/\\r/' numbers >converted; seq 3000 | sort >numbers; mkdir new; : >new/empty; head -c 300 /dev/zero >new/zeros
  printf 'a\\rb\\rc' >'new/$x'; printf '\\\\ No newline at end of file\\n-- \\n+++ b/x\\n@@ -1 +1 @@\\n' >new/like-a-patch
`;

/** Blocks added, copied, removed, moved and indented, names changed, in many files. */
const CHANGE_SOURCE = `
import pathlib, random
choose = random.Random(SEED)
files = sorted(it for it in pathlib.Path(".").rglob("*.py") if it.is_file())
for path in choose.sample(files, len(files) // 3):
    lines = path.read_bytes().splitlines(True)
    for _ in range(choose.randint(1, 12)):
        at = choose.randrange(len(lines) + 1)
        size = choose.randint(1, choose.choice([2, 6, 25]))
        block = lines[at:at + size]
        kind = choose.randrange(7)
        if kind == 0: del lines[at:at + size]
        if kind == 1: lines[at:at] = block
        if kind == 2: lines[at:at + size] = [b"    " + it if it.strip() else it for it in block]
        if kind == 3: lines[at:at + size] = [it.replace(b"self", b"this") for it in block]
        if kind == 4: lines[at:at] = [b"\\n"] * choose.randint(1, 2)
        if kind == 5: lines[at:at] = [b"def added(x):\\n", b"    return x\\n", b"\\n", b"\\n"]
        if kind == 6:
            del lines[at:at + size]
            to = choose.randrange(len(lines) + 1)
            lines[to:to] = block
    path.write_bytes(b"".join(lines))
for i, path in enumerate(choose.sample(files, 8)):
    if i < 4: path.unlink()
    else: path.rename(path.with_name("renamed_" + path.name))
`;

/** Makes the repository, of one commit. */
export async function makeRepository(dir: string): Promise<void> {
  const library = (await run("python3", "-c", "import os; print(os.path.dirname(os.__file__))"))
    .trim();
  Deno.mkdirSync(dir);
  const copy = [`cp ${library}/*.py .`, ...PACKAGES.map((it) => `cp -r ${library}/${it} .`)];
  const tidy = "find . -name __pycache__ -prune -exec rm -r {} +; chmod -R u+w .";
  await script(dir, `${copy.join("; ")}; ${tidy}; git init -q; (${MORE}); ${COMMIT}`);
}

/** Gives the script that edits it. */
export function changes(seed: number): string {
  return `set -e; python3 -c '${
    CHANGE_SOURCE.replace("SEED", String(seed))
  }'; cd more; ${CHANGE_MORE}`;
}

/** Runs a script in a directory, with no setting of this user for git. */
export async function script(dir: string, text: string): Promise<string> {
  return await run("env", "GIT_CONFIG_GLOBAL=/dev/null", "bash", "-ec", `cd ${dir}; ${text}`);
}

const COMMIT = "git add -A; git -c user.name=x -c user.email=x@x commit -qm first";
