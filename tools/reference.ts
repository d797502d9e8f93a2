/** The reference of the protocol as a page, from the document that `serve --schema` prints. */

/** A part of a JSON Schema. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly additionalProperties?: Schema | boolean;
}

/** What `serve --schema` prints. */
export interface ProtocolDocument {
  readonly protocol: number;
  readonly methods: Readonly<
    Record<string, {
      readonly summary: string;
      readonly params: Schema;
      readonly result: Schema;
      readonly example?: { readonly params: unknown; readonly result: unknown };
    }>
  >;
  readonly notifications: Readonly<
    Record<string, { readonly summary: string; readonly from: string; readonly params: Schema }>
  >;
  readonly errors: readonly {
    readonly code: number;
    readonly kind: string;
    readonly meaning: string;
  }[];
}

const INTRODUCTION = `# The protocol of \`minisandbox serve\`

JSON-RPC 2.0 over stdin and stdout or a unix socket, one message a line; a peer that begins with a
\`Content-Length\` header is answered in that framing. This page is made from what
\`minisandbox serve --schema\` prints; [protocol.json](protocol.json) is the same for programs.

- Requests run at once; those of one session in order. Answers come as they are ready.
- Params are objects. A field that is not known is an error, so a misspelt limit is never ignored.
- A sandbox ends with the connection that made it, unless it is detached; all end with the server.
- How a program ended is an answer; an error means that we could not do what was asked.
- \`null\` where a number of milliseconds or bytes may stand means no limit.`;

/** Renders the page. */
export function renderReference(
  { protocol, methods, notifications, errors }: ProtocolDocument,
): string {
  return [
    INTRODUCTION,
    `The version described here is ${protocol}.`,
    "## Methods",
    ...Object.entries(methods).flatMap(([name, { summary, params, result, example }]) => [
      `### ${name}`,
      summary,
      ...fields("Params", params),
      ...fields("Result", result),
      ...(example === undefined ? [] : [exchange(name, example)]),
    ]),
    "## Notifications",
    ...Object.entries(notifications).flatMap(([name, { summary, from, params }]) => [
      `### ${name}`,
      `${summary} From the ${from}.`,
      ...fields("Params", params),
    ]),
    "## Errors",
    "Programs match on `code` or on `data.kind`, never on the message. `data.remedy` says what to " +
    "do, where something can be done.",
    table(
      ["code", "kind", "meaning"],
      errors.map(({ code, kind, meaning }) => [String(code), `\`${kind}\``, meaning]),
    ),
    "",
  ].join("\n\n");
}

function fields(title: string, schema: Schema): string[] {
  const all = Object.entries(schema.properties ?? {});
  if (all.length === 0) return schema.properties === undefined ? [] : [`${title}: none.`];
  const rows = all.map(([name, field]) => [
    `\`${name}\`${schema.required?.includes(name) ? "" : "?"}`,
    typeOf(field),
    describe(field),
  ]);
  return [table([title.toLowerCase(), "type", ""], rows)];
}

/** The meaning of a field; of an object also those of its fields. */
function describe(schema: Schema): string {
  const own = schema.description ?? "";
  const inner = Object.entries(schema.properties ?? schema.items?.properties ?? {})
    .filter(([, { description }]) => description !== undefined)
    .map(([name, { description }]) => `${name}: ${description}`);
  return [own, ...inner].filter((part) => part !== "").join("; ");
}

function typeOf(schema: Schema): string {
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) return variants.map(typeOf).join(" or ");
  if (schema.enum !== undefined) return schema.enum.map((it) => `\`${it}\``).join(" ");
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === "array") return `[${typeOf(schema.items ?? {})}]`;
  if (schema.properties !== undefined) {
    const inner = Object.entries(schema.properties).map(([name, field]) =>
      `${name}${schema.required?.includes(name) ? "" : "?"}: ${typeOf(field)}`
    );
    return `{${inner.join(", ")}}`;
  }
  if (schema.type === "object" && typeof schema.additionalProperties === "object") {
    return `{name: ${typeOf(schema.additionalProperties)}}`;
  }
  return [schema.type ?? "any value"].flat().join(" or ");
}

function exchange(
  method: string,
  { params, result }: { params: unknown; result: unknown },
): string {
  const lines = [
    { jsonrpc: "2.0", id: 1, method, params },
    { jsonrpc: "2.0", id: 1, result },
  ].map((message) => JSON.stringify(message));
  return ["```json", ...lines, "```"].join("\n");
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}
