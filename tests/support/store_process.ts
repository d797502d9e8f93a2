/** One process that ensures a layer and says what it did: started many times by the store's tests. */
import { ensureLayers, unpackHere } from "../../src/app/layer.ts";
import { Store } from "../../src/store/mod.ts";

const [dir, archive, path] = Deno.args;
const store = Store.open(dir!);
await store.sweep();
let unpacked = 0;
const [layer] = await ensureLayers(store, [{ archive: archive!, path: path! }], {
  idmap: "test",
  unpack: async (job) => {
    unpacked++;
    console.log("unpacking");
    return await unpackHere(job);
  },
});
console.log(JSON.stringify({ key: layer!.key, unpacked }));
layer![Symbol.dispose]();
