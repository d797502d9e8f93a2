/** Use case: a server's sandboxes behind the HTTP protocol of SWE-ReX. */
export { type Door, openSwerex, type SwerexOptions } from "./door.ts";
export { KEY_VARIABLE, readKey } from "./key.ts";
export { parseRoot } from "./place.ts";
export type { Compat } from "./session.ts";
