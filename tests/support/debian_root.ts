/** A root file system of Debian, made once by debootstrap and kept for the tests of this machine. */
import { run } from "./worst_tree.ts";

/** Programs that it has beside the smallest Debian. */
const PACKAGES = ["cron", "iputils-ping", "python3", "sudo", "uidmap"];

const CACHE = `${Deno.env.get("TMPDIR") ?? "/tmp"}/minisandbox-debian-12-${PACKAGES.join("-")}.tar`;

/** Says whether it can be had: root makes it, others use what root has made. */
export async function hasDebianRootTar(): Promise<boolean> {
  return Deno.uid() === 0 || await isCached();
}

/** Gives it as a tar, devices included; makes it where it is missing, which takes a minute or two. */
export async function debianRootTar(): Promise<string> {
  if (await isCached()) return CACHE;
  const work = await Deno.makeTempDir({ prefix: "minisandbox-debian-" });
  try {
    const packages = `--include=${PACKAGES.join(",")}`;
    await run("debootstrap", "--variant=minbase", packages, "bookworm", `${work}/root`);
    await run("tar", "--numeric-owner", "-cf", `${work}/tar`, "-C", `${work}/root`, ".");
    await Deno.rename(`${work}/tar`, CACHE);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return CACHE;
}

/** Only what root itself has put there: others could have, in a directory that all may write. */
async function isCached(): Promise<boolean> {
  try {
    const { isFile, uid } = await Deno.lstat(CACHE);
    return isFile && uid === 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
