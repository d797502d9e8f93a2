/** Tests of an environment's digest: it depends on content alone. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { environmentDigest } from "../../src/app/environment.ts";

const SHA256 = "a".repeat(64);
const content = {
  base: "host",
  layers: [{ sha256: SHA256, path: "/opt/venv" }, { sha256: SHA256, path: "/testbed" }],
  env: { A: "1", B: "2" },
  workdir: "/testbed",
};

Deno.test("environmentDigest() does not depend on the order of variables, or on archives' names", () => {
  const digest = environmentDigest(content);
  assertEquals(environmentDigest({ ...content, env: { B: "2", A: "1" } }), digest);
  const layers = content.layers.map((layer) => ({ ...layer, archive: "/elsewhere/x.tar.gz" }));
  assertEquals(environmentDigest({ ...content, layers }), digest);
});

Deno.test("environmentDigest() depends on all that is content", () => {
  const digest = environmentDigest(content);
  const others = [
    { ...content, base: "b".repeat(64) },
    { ...content, layers: content.layers.toReversed() },
    { ...content, layers: content.layers.slice(1) },
    { ...content, env: { A: "1", B: "3" } },
    { ...content, workdir: null },
  ];
  for (const other of others) assertNotEquals(environmentDigest(other), digest);
});
