/** Whether this host is a Docker container, and with what one that may make sandboxes is started. */

/** A container, as it shows from inside. */
export interface Docker {
  /** Whether we are its root: others have no place of their own on a new volume. */
  readonly isRoot: boolean;
  /** The AppArmor profile that it is in, where there is one: it forbids mounts. */
  readonly profile: string | null;
}

/** Looks whether we are in a container of Docker; null if not. */
export function readDocker(): Docker | null {
  return findDocker(
    read("/proc/self/mountinfo"),
    read("/proc/self/attr/apparmor/current") || read("/proc/self/attr/current"),
    Deno.uid() === 0,
  );
}

/**
 * Finds Docker by what it mounts into every container. A file `/.dockerenv` proves nothing: root file
 * systems that were made from images have it too.
 *
 * @param mountinfo The text of /proc/self/mountinfo.
 * @param attribute What AppArmor says of us, such as `docker-default (enforce)`.
 */
export function findDocker(
  mountinfo: string,
  attribute: string,
  isRoot: boolean,
): Docker | null {
  if (!/\/containers\/[0-9a-f]{64}\/\S+ \/etc\/(?:hostname|hosts) /.test(mountinfo)) return null;
  const [, profile] = /^(\S+) \((?:enforce|kill)\)/.exec(attribute) ?? [];
  return { isRoot, profile: profile ?? null };
}

/** The options of `docker run` without which no sandbox can be made, for any user. */
export function dockerOptions({ profile }: Docker): string {
  const names = ["seccomp", "systempaths", ...(profile === null ? [] : ["apparmor"])];
  return names.map((name) => `--security-opt ${name}=unconfined`).join(" ");
}

/** The options that keep the store out of the container's own file system, an overlay. */
export function storeOptions({ isRoot }: Docker): string {
  return isRoot
    ? "-v minisandbox:/var/lib/minisandbox"
    : "--tmpfs /store:mode=1777 -e MINISANDBOX_STORE=/store/own";
}

/** Says how such a container is started. */
export function dockerRemedy(docker: Docker): string {
  return `Start the container by: docker run ${dockerOptions(docker)} ${storeOptions(docker)} …; ` +
    "--cap-add SYS_ADMIN can stand in place of seccomp=unconfined.";
}

function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
