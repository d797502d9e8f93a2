/** A Python wheel made without a network. */

const WRITE = `import base64, hashlib, sys, zipfile
path, name, source, parts = sys.argv[1:]
info = f"{name}-1.0.dist-info"
files = {
    f"{name}.py": source,
    **{f"{name}_parts/part{i}.py": f"{name}_{i} = {i}\\n" * 8000 for i in range(int(parts))},
    f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
def row(it, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    return f"{it},sha256={digest},{len(text.encode())}\\n"
record = "".join(row(*it) for it in files.items()) + f"{info}/RECORD,,\\n"
with zipfile.ZipFile(path, "w") as wheel:
    for it, text in {**files, f"{info}/RECORD": record}.items():
        wheel.writestr(it, text)
`;

/**
 * Writes a wheel of one module into a directory, and gives its file's name.
 *
 * @param parts So many more modules, of a hundred kilobytes and more, are in a package beside it.
 */
export function writeWheel(dir: string, name: string, source: string, parts = 0): string {
  const file = `${name}-1.0-py3-none-any.whl`;
  const args = ["-c", WRITE, `${dir}/${file}`, name, source, `${parts}`];
  const { success, stderr } = new Deno.Command("python3", { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  Deno.chmodSync(`${dir}/${file}`, 0o644);
  return file;
}
