/** A directory of one run of the bench. */
import { run } from "./context.ts";

/** Makes it; the ids of a sandbox can pass through it, and it is removed with all in it. */
export async function openScratch(
  parent?: string,
): Promise<{ readonly dir: string } & AsyncDisposable> {
  const dir = await Deno.makeTempDir({
    prefix: "minisandbox-bench-",
    ...(parent === undefined ? {} : { dir: parent }),
  });
  await Deno.chmod(dir, 0o755);
  return { dir, [Symbol.asyncDispose]: async () => void await run(["rm", "-rf", dir]) };
}
