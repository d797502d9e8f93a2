/** Use case: what a run would do, step by step. */
import {
  nestedExtents,
  type Plan,
  planFacts,
  planHolder,
  planIdMaps,
  planNamespaces,
  planPair,
  planProcess,
  planSandbox,
  processFacts,
  shareOf,
  showStep,
  standingOf,
  toMapText,
  USUAL_TEMPLATE,
} from "../sandbox/mod.ts";
import { namedTrees } from "./base.ts";
import { findLayers } from "./layer.ts";
import { joinLayout } from "./layout.ts";
import { openBase } from "./named_base.ts";
import type { Node } from "./node.ts";
import { toProgram } from "./program.ts";
import { checkSpec, type SandboxSpec } from "./spec.ts";
import { holdSnapshot } from "./snapshot.ts";
import { findUser } from "./user.ts";

/** Steps that are done together. */
export interface PlanSection {
  readonly title: string;
  readonly lines: readonly string[];
}

/**
 * Plans a run. Layers that are not in the store stand by their archive's name.
 *
 * @throws {MinisandboxError} If the spec cannot be used here.
 */
export async function planRun(node: Node, spec: SandboxSpec): Promise<PlanSection[]> {
  checkSpec(spec);
  const { host, store } = node;
  const { uids, gids, kind } = host.identity;
  const standing = standingOf(host.identity);
  const quotas = shareOf(host.quotas);
  const ground = { host, trees: namedTrees(store, host), mapsIds: () => kind === "root" };
  using base = await openBase({ store, ground, idmap: node.idmap }, spec);
  const user = findUser(base.users, spec.user, host);
  const layers = spec.layers.map((layer) => {
    const [found] = findLayers(store, [layer], node) ?? [];
    found?.[Symbol.dispose]();
    const tree = found?.tree ?? `<${layer.archive}, to be unpacked>`;
    return { key: "", sha256: "", path: layer.path, tree, [Symbol.dispose]: () => {} };
  });
  for (const name of spec.from) {
    const found = name.includes("/") ? [] : holdSnapshot(store, name, node.idmap);
    for (const layer of found) layer[Symbol.dispose]();
    const trees = found.length > 0 ? found.map(({ tree }) => tree) : [`<${name}, to be unpacked>`];
    for (const tree of trees) {
      layers.push({ key: "", sha256: "", path: "/", tree, [Symbol.dispose]: () => {} });
    }
  }
  const layout = joinLayout(spec, base, layers, `${store.dir}/runs/ID`);
  const program = toProgram(spec, user);
  const maps = { uids: toMapText(nestedExtents(uids)), gids: toMapText(nestedExtents(gids)) };
  return [
    section("start the holder, in new user and pid namespaces", planHolder()),
    section("prepare mount namespaces", planNamespaces(standing, { ...USUAL_TEMPLATE, quotas })),
    section(
      "make a user and a network namespace",
      planPair(standing, spec.network, { limit: null, quotas }),
    ),
    section("map its ids", planIdMaps("PID", maps, standing)),
    section("make the sandbox", planSandbox(layout, planFacts(host, null))),
    section("start the command", planProcess(program, processFacts(host, user, layout, null))),
  ];
}

function section(title: string, plan: Plan): PlanSection {
  return { title, lines: plan.map(showStep) };
}
