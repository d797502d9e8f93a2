/** Where the store lies when the caller does not say. */

/** Gives the store's directory from the environment and the user's id. */
export function storeLocation(
  env: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  if (env.MINISANDBOX_STORE) return env.MINISANDBOX_STORE;
  if (uid === 0) return "/var/lib/minisandbox";
  // The specification of XDG says to ignore a relative path.
  if (env.XDG_DATA_HOME?.startsWith("/")) return `${env.XDG_DATA_HOME}/minisandbox`;
  return `${env.HOME ?? ""}/.local/share/minisandbox`;
}
