/** A directory of one test, removed with all in it. */

/** Makes an empty directory that any user may pass through. */
export function tempDir(): { readonly path: string } & Disposable {
  const path = Deno.makeTempDirSync({ prefix: "minisandbox-test-" });
  Deno.chmodSync(path, 0o755);
  return {
    path,
    [Symbol.dispose]: () => {
      openUp(path);
      Deno.removeSync(path, { recursive: true });
    },
  };
}

/** Lets us remove what is beneath a directory, whatever its modes. */
export function openUp(dir: string): void {
  Deno.chmodSync(dir, 0o700);
  for (const entry of Deno.readDirSync(dir)) {
    if (entry.isDirectory) openUp(`${dir}/${entry.name}`);
  }
}
