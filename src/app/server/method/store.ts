/** Methods on what the store holds: layers and environments. */
import * as z from "zod/mini";
import { type EnvironmentFile, importEnvironment } from "../../environment.ts";
import { environmentSchema, toManifest } from "../../environment_json.ts";
import { ensureLayers } from "../../layer.ts";
import { given } from "../../json.ts";
import { layerSchema } from "../../spec_json.ts";
import { method } from "../method.ts";
import { strings } from "../schema.ts";

const layerInfo = z.strictObject({
  key: z.string(),
  path: z.string(),
  sha256: z.string(),
  archive: z.string(),
  entries: z.int(),
  bytes: z.number(),
  diskBytes: z.number(),
  created: z.string(),
  lastUsed: z.string(),
  isInUse: z.boolean(),
  usedBy: z.readonly(z.array(z.string())),
});

const importLayers = method({
  summary: "Unpacks archives that are not unpacked yet, so that no sandbox waits for them.",
  params: z.strictObject({ layers: z.array(layerSchema).check(z.minLength(1)) }),
  result: z.strictObject({
    layers: z.array(z.strictObject({ key: z.string(), path: z.string(), sha256: z.string() })),
  }),
  run: async ({ layers }, { server, call }) => {
    const { store, idmap, unpack, budget } = server.node;
    const wishes = layers.map(given) as Parameters<typeof ensureLayers>[1];
    const signal = call.signal;
    const made = await ensureLayers(store, wishes, {
      idmap,
      unpack,
      budget,
      use: "import",
      signal,
    });
    for (const layer of made) layer[Symbol.dispose]();
    return { layers: made.map(({ key, path, sha256 }) => ({ key, path, sha256 })) };
  },
});

const listLayers = method({
  summary: "Lists the layers of the store.",
  params: z.strictObject({}),
  result: z.strictObject({ layers: z.array(layerInfo) }),
  run: (_, { server }) => ({
    layers: server.node.store.catalog.list().map((layer) => ({
      key: layer.key,
      path: layer.path,
      sha256: layer.archive.sha256,
      archive: layer.archive.name,
      entries: layer.entries,
      bytes: layer.bytes,
      diskBytes: layer.diskBytes,
      created: layer.created,
      lastUsed: layer.lastUsed,
      isInUse: layer.isInUse,
      usedBy: layer.usedBy,
    })),
  }),
});

const removeLayer = method({
  summary: "Removes a layer that nothing uses or needs.",
  params: z.strictObject({ key: z.string() }),
  result: z.strictObject({ removed: z.string() }),
  run: async ({ key }, { server }) => ({ removed: await server.node.store.catalog.remove(key) }),
});

const environmentInfo = z.strictObject({
  name: z.string(),
  digest: z.string(),
  base: z.string(),
  workdir: z.nullable(z.string()),
  env: strings,
  layers: z.array(z.strictObject({ path: z.string(), sha256: z.string() })),
  created: z.string(),
});

const importOne = method({
  summary: "Gives a base, layers, variables and a working directory a name.",
  params: z.strictObject({ name: z.string(), manifest: environmentSchema }),
  result: environmentInfo,
  run: async ({ name, manifest }, { server, call }) => {
    const file = await importEnvironment(server.node, {
      name,
      manifest: toManifest(manifest),
      manifestPath: `${Deno.cwd()}/manifest.json`,
      signal: call.signal,
    });
    return toInfo([name, file]);
  },
});

const listEnvironments = method({
  summary: "Lists the environments of the store.",
  params: z.strictObject({}),
  result: z.strictObject({ environments: z.array(environmentInfo) }),
  run: (_, { server }) => ({
    environments: server.node.store.names.list<EnvironmentFile>("environment").map(toInfo),
  }),
});

const showEnvironment = method({
  summary: "Tells of one environment.",
  params: z.strictObject({ name: z.string() }),
  result: environmentInfo,
  run: ({ name }, { server }) =>
    toInfo([name, server.node.store.names.read<EnvironmentFile>("environment", name)]),
});

const removeEnvironment = method({
  summary: "Takes an environment's name away; its layers go when nothing needs them.",
  params: z.strictObject({ name: z.string() }),
  result: z.strictObject({}),
  run: ({ name }, { server }) => {
    server.node.store.names.remove("environment", name);
    return {};
  },
});

/** Methods by their names. */
export const storeMethods = {
  "layer.import": importLayers,
  "layer.list": listLayers,
  "layer.remove": removeLayer,
  "environment.import": importOne,
  "environment.list": listEnvironments,
  "environment.show": showEnvironment,
  "environment.remove": removeEnvironment,
};

function toInfo(
  [name, { digest, base, workdir, env, layers, created }]: readonly [string, EnvironmentFile],
): z.infer<typeof environmentInfo> {
  return {
    name,
    digest,
    base,
    workdir,
    env: { ...env },
    layers: layers.map(({ path, sha256 }) => ({ path, sha256 })),
    created,
  };
}
