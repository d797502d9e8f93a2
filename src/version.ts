/** The version of minisandbox, stated once in `deno.json`. */
import config from "../deno.json" with { type: "json" };

/** The version of this build, as semantic versioning. */
export const VERSION: string = config.version;
