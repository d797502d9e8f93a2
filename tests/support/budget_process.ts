/** One process that reserves a part of a budget and keeps it until its stdin ends. */
import { IoBudget } from "../../src/budget/mod.ts";

const [dir, bytes, archiveBytes] = Deno.args.map((arg, i) => i === 0 ? arg : Number(arg));
const budget = new IoBudget(String(dir), { mode: { kind: "fixed", bytes: Number(bytes) } });
const onWait = () => console.log("waits");
using share = await budget.reserve(Number(archiveBytes), { onWait });
share.note(Number(archiveBytes) / 2);
console.log("runs");
for await (const _ of Deno.stdin.readable) { /* until its end */ }
