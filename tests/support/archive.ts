/** Archives made of real trees, by GNU tar. */

/** Packs a directory's content; gzip by default. */
export async function packTree(
  from: string,
  archive: string,
  ...options: readonly string[]
): Promise<string> {
  const args = ["--create", "--gzip", "--file", archive, ...options, "--directory", from, "."];
  const { success, stderr } = await new Deno.Command("tar", { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return archive;
}

/** Makes files with their parents, and packs them. */
export async function packFiles(
  temp: string,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const from = `${temp}/${name}.tree`;
  for (const [path, text] of Object.entries(files)) {
    Deno.mkdirSync(`${from}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(`${from}/${path}`, text);
  }
  return await packTree(from, `${temp}/${name}`, "--owner=0", "--group=0");
}
