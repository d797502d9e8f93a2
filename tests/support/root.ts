/** Root file systems made of a few programs of this host, and of what they are linked with. */

/** Copies programs and their libraries into a new directory, and gives it. */
export function copyPrograms(root: string, names: readonly string[]): string {
  for (const dir of ["bin", "lib", "lib64"]) Deno.mkdirSync(`${root}/${dir}`, { recursive: true });
  for (const name of names) {
    const program = run("bash", "-c", `type -P ${name}`).trim();
    const real = program.startsWith("/usr/") || program.startsWith("/bin/")
      ? program
      : `/usr/bin/${name}`;
    Deno.copyFileSync(real, `${root}/bin/${name}`);
    for (const [, library = ""] of run("ldd", real).matchAll(/(\/\S+) \(0x/g)) {
      const parent = library.replace(/\/[^/]*$/, "");
      Deno.mkdirSync(`${root}${parent}`, { recursive: true });
      Deno.copyFileSync(library, `${root}${library}`);
    }
  }
  return root;
}

function run(program: string, ...args: readonly string[]): string {
  const { success, stdout, stderr } = new Deno.Command(program, { args: [...args] }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}
