/** One process that sweeps a store again and again, until it is killed. */
import { Store } from "../../src/store/mod.ts";

const store = Store.open(Deno.args[0]!);
console.log("sweeping");
for (;;) await store.sweep();
