/** Images on disk: an OCI layout, or what `docker save` wrote; unpacked, and not to be trusted. */
import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { ArchiveError, UsageError } from "../errors.ts";
import type { ImageConfig } from "./named_base.ts";

/** An image: its layers, the lowest first, and what it says of its programs. */
export interface Image {
  readonly kind: "oci" | "docker";
  readonly layers: readonly ImageLayer[];
  readonly config: ImageConfig;
}

/** One of its layers. */
export interface ImageLayer {
  readonly archive: string;
  /** What the image says its SHA-256 is; absent where it does not. */
  readonly sha256?: string;
}

const MAX_JSON_BYTES = 16 << 20;

const descriptor = z.object({
  mediaType: z.optional(z.string()),
  digest: z.string().check(z.regex(/^sha256:[0-9a-f]{64}$/)),
  annotations: z.optional(z.record(z.string(), z.string())),
  platform: z.optional(z.object({ architecture: z.string(), os: z.string() })),
});
const index = z.object({ manifests: z.array(descriptor) });
const manifest = z.object({ config: descriptor, layers: z.array(descriptor) });
const config = z.object({
  config: z.optional(z.nullable(z.object({
    Env: z.optional(z.nullable(z.array(z.string()))),
    WorkingDir: z.optional(z.nullable(z.string())),
    User: z.optional(z.nullable(z.string())),
  }))),
});
const saved = z.array(z.object({
  Config: z.string(),
  RepoTags: z.optional(z.nullable(z.array(z.string()))),
  Layers: z.array(z.string()),
}));

type Descriptor = z.infer<typeof descriptor>;

/** Each machine by its name in images. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

/**
 * Reads the image that a directory holds; null if it holds none.
 *
 * @param wanted The image's tag, where there are several.
 * @throws {ArchiveError} If it is damaged, or names files outside the directory.
 * @throws {UsageError} If it holds several images, or none of that tag.
 */
export function readImage(dir: string, wanted: string | null): Image | null {
  if (exists(`${dir}/oci-layout`) && exists(`${dir}/index.json`)) return readOci(dir, wanted);
  if (exists(`${dir}/manifest.json`)) return readDocker(dir, wanted);
  return null;
}

function readOci(dir: string, wanted: string | null): Image {
  const top = parse(dir, "index.json", index).manifests;
  let chosen = choose(dir, top, wanted);
  for (let depth = 0; isIndex(chosen); depth++) {
    if (depth === 4) throw damaged(dir, "its indexes do not end");
    chosen = choose(dir, readBlob(dir, chosen, index).manifests, null);
  }
  const { config: settings, layers } = readBlob(dir, chosen, manifest);
  return {
    kind: "oci",
    layers: layers.map(({ digest }) => ({
      archive: beneath(dir, blobPath(digest)),
      sha256: hexOf(digest),
    })),
    config: toConfig(readBlob(dir, settings, config)),
  };
}

function readDocker(dir: string, wanted: string | null): Image {
  const images = parse(dir, "manifest.json", saved);
  const tags = ({ RepoTags: names }: typeof images[number]) => names ?? [];
  const found = wanted === null ? images : images.filter((image) => tags(image).includes(wanted));
  const image = single(dir, found, images.flatMap(tags), wanted);
  return {
    kind: "docker",
    layers: image.Layers.map((path) => {
      const [, sha256] = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(path) ?? [];
      return { archive: beneath(dir, path), ...(sha256 === undefined ? {} : { sha256 }) };
    }),
    config: toConfig(parse(dir, image.Config, config)),
  };
}

/** Of several images, the one of the tag; of one image's variants, the one for this machine. */
function choose(
  dir: string,
  descriptors: readonly Descriptor[],
  wanted: string | null,
): Descriptor {
  const tag = ({ annotations }: Descriptor) => annotations?.["org.opencontainers.image.ref.name"];
  const named = wanted === null ? descriptors : descriptors.filter((it) => tag(it) === wanted);
  const own = named.filter(({ platform }) =>
    platform?.os === "linux" && platform.architecture === ARCHITECTURES[Deno.build.arch]
  );
  const some = own.length > 0 ? own : named.filter(({ platform }) => platform === undefined);
  const tags = descriptors.flatMap((it) => tag(it) ?? []);
  return single(dir, some, tags, wanted);
}

function single<T>(
  dir: string,
  found: readonly T[],
  tags: readonly string[],
  wanted: string | null,
): T {
  if (found.length === 1) return found[0]!;
  const list = tags.length === 0 ? "" : `: ${tags.join(", ")}`;
  if (found.length === 0) {
    const what = wanted === null ? `for ${Deno.build.arch}` : `of tag ${JSON.stringify(wanted)}`;
    throw new UsageError(`Cannot import ${JSON.stringify(dir)}: it holds no image ${what}${list}`);
  }
  throw new UsageError(
    `Cannot import ${JSON.stringify(dir)}: it holds ${found.length} images${list}`,
    { remedy: "Choose one with --tag TAG." },
  );
}

function isIndex({ mediaType = "" }: Descriptor): boolean {
  return mediaType.endsWith("image.index.v1+json") || mediaType.endsWith("manifest.list.v2+json");
}

function toConfig({ config: given }: z.infer<typeof config>): ImageConfig {
  const pairs = (given?.Env ?? []).map((text) => {
    const cut = text.indexOf("=");
    return cut < 0 ? [text, ""] : [text.slice(0, cut), text.slice(cut + 1)];
  });
  return {
    env: Object.fromEntries(pairs.filter(([name]) => name !== "")),
    workdir: given?.WorkingDir || null,
    user: given?.User?.split(":")[0] || null,
  };
}

function readBlob<T extends z.ZodMiniType>(
  dir: string,
  { digest }: Descriptor,
  schema: T,
): z.infer<T> {
  const bytes = readFile(dir, blobPath(digest));
  if (createHash("sha256").update(bytes).digest("hex") !== hexOf(digest)) {
    throw damaged(dir, `${blobPath(digest)} is not what its name says`);
  }
  return parseBytes(dir, blobPath(digest), bytes, schema);
}

function parse<T extends z.ZodMiniType>(dir: string, path: string, schema: T): z.infer<T> {
  return parseBytes(dir, path, readFile(dir, path), schema);
}

function parseBytes<T extends z.ZodMiniType>(
  dir: string,
  path: string,
  bytes: Uint8Array,
  schema: T,
): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw damaged(dir, `${path} is no JSON`);
  }
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw damaged(dir, `${path}: ${issue!.path.map(String).join(".")}: ${issue!.message}`);
}

function readFile(dir: string, path: string): Uint8Array<ArrayBuffer> {
  const real = beneath(dir, path);
  if (Deno.statSync(real).size > MAX_JSON_BYTES) throw damaged(dir, `${path} is too large`);
  return Deno.readFileSync(real);
}

/** Gives the real path of a file, which must lie in the directory: its links may lead anywhere. */
function beneath(dir: string, path: string): string {
  try {
    const root = Deno.realPathSync(dir);
    const real = Deno.realPathSync(`${root}/${path}`);
    if (real.startsWith(`${root}/`) && Deno.statSync(real).isFile) return real;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw damaged(dir, `${path} is missing`);
  }
  throw damaged(dir, `${path} is no file in it`);
}

function exists(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

function blobPath(digest: string): string {
  return `blobs/sha256/${hexOf(digest)}`;
}

function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}

function damaged(dir: string, state: string): ArchiveError {
  return new ArchiveError(`Cannot import the image ${JSON.stringify(dir)}: ${state}`);
}
