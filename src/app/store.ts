/** Use case: the store of this user, opened. */
import { type LayerInfo, type RemoveTree, Store, storeLocation } from "../store/mod.ts";

export type { LayerInfo, RemoveTree, Store };

/**
 * Opens the store that the caller names, or the one of this user.
 *
 * @throws {HostError} If it cannot be made.
 */
export function openStore(
  dir: string | undefined,
  options: { readonly remove?: RemoveTree } = {},
): Store {
  return Store.open(dir ?? storeLocation(Deno.env.toObject(), Deno.uid() ?? 0), options);
}
