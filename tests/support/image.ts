/** Images written by hand: no registry is asked for them. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { type Member, tar } from "./tar.ts";

/** An image to be written: its layers, the lowest first. */
export interface ImageParts {
  readonly layers: readonly (readonly Member[])[];
  readonly config?: Readonly<Record<string, unknown>>;
}

const PREFIX = "application/vnd.oci.image";
const ARCHITECTURE = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
const encoder = new TextEncoder();

/** Writes an OCI layout with compressed layers, tagged `latest`, and gives each layer's blob. */
export function writeOci(dir: string, { layers, config = {} }: ImageParts): string[] {
  Deno.mkdirSync(`${dir}/blobs/sha256`, { recursive: true });
  const blob = (mediaType: string, bytes: Uint8Array) => {
    const hex = createHash("sha256").update(bytes).digest("hex");
    Deno.writeFileSync(`${dir}/blobs/sha256/${hex}`, bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const json = (value: unknown) => encoder.encode(JSON.stringify(value));
  const packed = layers.map((members) =>
    blob(`${PREFIX}.layer.v1.tar+gzip`, gzipSync(tar(...members)))
  );
  const image = blob(
    `${PREFIX}.manifest.v1+json`,
    json({
      schemaVersion: 2,
      config: blob(
        `${PREFIX}.config.v1+json`,
        json({ architecture: ARCHITECTURE, os: "linux", config }),
      ),
      layers: packed,
    }),
  );
  const annotations = { "org.opencontainers.image.ref.name": "latest" };
  const platform = { architecture: ARCHITECTURE, os: "linux" };
  const manifests = [{ ...image, annotations, platform }];
  Deno.writeFileSync(`${dir}/index.json`, json({ schemaVersion: 2, manifests }));
  Deno.writeFileSync(`${dir}/oci-layout`, json({ imageLayoutVersion: "1.0.0" }));
  return packed.map(({ digest }) => `${dir}/blobs/sha256/${digest.slice("sha256:".length)}`);
}

/** Gives what `docker save` would write of an image named `image:tag`. */
export function dockerSave({ layers, config = {} }: ImageParts): Uint8Array<ArrayBuffer> {
  const names = layers.map((_, i) => `layer${i}/layer.tar`);
  return tar(
    ...layers.map((members, i) => ({ name: names[i]!, body: tar(...members) })),
    { name: "config.json", body: JSON.stringify({ config, rootfs: {} }) },
    {
      name: "manifest.json",
      body: JSON.stringify([{
        Config: "config.json",
        RepoTags: ["image:tag"],
        Layers: names,
      }]),
    },
  );
}
