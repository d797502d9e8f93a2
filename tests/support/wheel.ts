/** A Python wheel of one module, made without a network. */

const WRITE = `import sys, zipfile
path, name, source = sys.argv[1:]
info = f"{name}-1.0.dist-info"
files = {
    f"{name}.py": source,
    f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
record = "".join(f"{it},,\\n" for it in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(path, "w") as wheel:
    for it, text in {**files, f"{info}/RECORD": record}.items():
        wheel.writestr(it, text)
`;

/** Writes a wheel into a directory, and gives its file's name. */
export function writeWheel(dir: string, name: string, source: string): string {
  const file = `${name}-1.0-py3-none-any.whl`;
  const args = ["-c", WRITE, `${dir}/${file}`, name, source];
  const { success, stderr } = new Deno.Command("python3", { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  Deno.chmodSync(`${dir}/${file}`, 0o644);
  return file;
}
