/** `upload`: a form whose file goes by way of the store, for where it shall be stands after it. */
import type { LiveSandbox } from "../live_sandbox.ts";
import type { Server } from "../server.ts";
import { bodyOf } from "./body.ts";
import { type Answer, refuse, succeed, toAnswer } from "./failure.ts";
import { upload } from "./file.ts";
import { FormError, type FormPart, readForm } from "./multipart.ts";

/** A field that is no file is no longer than this. */
const MOST_FIELD_BYTES = 64 * 1024;

/** Takes the file and puts it where it shall be. */
export async function takeUpload(
  sandbox: LiveSandbox,
  request: Request,
  { node }: Server,
): Promise<Answer> {
  await using scratch = node.store.openScratch();
  const file = `${scratch.dir}/upload`;
  const fields = new Map<string, string>();
  try {
    const type = request.headers.get("content-type");
    for await (const part of readForm(bodyOf(request), type)) {
      if (part.name === "file") await save(part, file);
      fields.set(part.name, part.name === "file" ? file : await readField(part));
    }
  } catch (error) {
    if (!(error instanceof FormError)) throw error;
    return refuse(422, [{ type: "form", loc: ["body"], msg: error.message, input: null }]);
  }
  for (const name of ["file", "target_path"]) {
    if (fields.has(name)) continue;
    return refuse(422, [{
      type: "missing",
      loc: ["body", name],
      msg: "Field required",
      input: null,
    }]);
  }
  const isZip = /^(true|1|on|t|y|yes)$/i.test(fields.get("unzip") ?? "false");
  try {
    const target = fields.get("target_path")!;
    return succeed(await upload(sandbox, { file, target, isZip }, node));
  } catch (error) {
    return toAnswer(error);
  }
}

async function save({ bytes }: FormPart, path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true, mode: 0o600 });
  for await (const piece of bytes) {
    for (let at = 0; at < piece.length;) at += await file.write(piece.subarray(at));
  }
}

async function readField({ bytes }: FormPart): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of bytes) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > MOST_FIELD_BYTES) throw new FormError("a field is too long");
  }
  return text + decoder.decode();
}
