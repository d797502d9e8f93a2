/** Who runs the tests: what a sandbox can do depends on it. */
import { type Identity, probeHost } from "../../src/sandbox/mod.ts";

/** Whether sandboxes of the tests have user namespaces; root's can go without. */
export const USES_USER_NAMESPACE = Deno.env.get("MINISANDBOX_TEST_USERNS") !== "off";

const KIND = probeHost({ usesUserNamespace: USES_USER_NAMESPACE }).identity.kind;

/** Tells how the ids of this user's sandboxes come about. */
export function identity(): Identity["kind"] {
  return KIND;
}

/** Gives the part of a test's definition that leaves it to users of these kinds. */
export function onlyAs(...kinds: readonly Identity["kind"][]): { readonly ignore: boolean } {
  return { ignore: !kinds.includes(identity()) };
}
