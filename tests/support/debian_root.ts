/** A root file system of Debian, made once by debootstrap and kept for the tests of this machine. */
import { run } from "./worst_tree.ts";

/** Gives it as a tar, devices included; makes it where it is missing, which takes a minute or two. */
export async function debianRootTar(): Promise<string> {
  const cache = `${Deno.env.get("TMPDIR") ?? "/tmp"}/minisandbox-debian-root.tar`;
  try {
    // Only what root itself has put there: others could have, in a directory that all may write.
    const { isFile, uid } = await Deno.lstat(cache);
    if (isFile && uid === 0) return cache;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const work = await Deno.makeTempDir({ prefix: "minisandbox-debian-" });
  try {
    await run("debootstrap", "--variant=minbase", "bookworm", `${work}/root`);
    await run("tar", "--numeric-owner", "-cf", `${work}/tar`, "-C", `${work}/root`, ".");
    await Deno.rename(`${work}/tar`, cache);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return cache;
}
