/** A directory of a sandbox laid down on the host, as the caller's own. */
import type { Node } from "../node.ts";
import { packTreeInside, type TreeSpot } from "./file_tree.ts";

/**
 * Copies a directory to one of the host, which is made if it is not there: packed by a worker, and
 * unpacked with the caller's own rights, beneath that directory and through no link.
 *
 * @throws {MinisandboxError} If it cannot be.
 */
export async function downloadTree(
  node: Node,
  spot: TreeSpot,
  hostPath: string,
  onNote: (note: string) => void,
): Promise<number> {
  const { unpackInto } = await import("../../archive/mod.ts");
  await Deno.mkdir(hostPath, { recursive: true });
  // What is written is taken before the next is: no more than one piece waits.
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const writer = writable.getWriter();
  const packing = packTreeInside(node, spot, {
    level: null,
    onNote,
    write: (bytes) => writer.write(bytes.slice()),
  }).then(() => writer.close(), (error) => writer.abort(error).then(() => Promise.reject(error)));
  const unpacking = unpackInto(hostPath, readable, {
    name: spot.path,
    owners: "root",
    setuid: "drop",
    devices: "skip",
    signal: spot.signal,
  });
  const [packed, unpacked] = await Promise.allSettled([packing, unpacking]);
  if (unpacked.status === "rejected") throw unpacked.reason;
  if (packed.status === "rejected") throw packed.reason;
  return unpacked.value.bytes;
}
