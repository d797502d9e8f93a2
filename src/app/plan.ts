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
  showStep,
  standingOf,
  toMapText,
} from "../sandbox/mod.ts";
import { namedTrees, prepareBase } from "./base.ts";
import { joinLayout } from "./layout.ts";
import type { Node } from "./node.ts";
import { toProgram } from "./program.ts";
import { checkSpec, type SandboxSpec } from "./spec.ts";
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
  const base = await prepareBase(
    { host, trees: namedTrees(store, host), mapsIds: () => kind === "root" },
    spec,
  );
  const user = findUser(base.users, spec.user, host);
  const layers = spec.layers.map(({ archive, path }) => {
    const request = { archive, path, idmap: node.idmap };
    using found = store.findLayer(request);
    const tree = found?.tree ?? `<${archive}, to be unpacked>`;
    return { key: "", path, tree, [Symbol.dispose]: () => {} };
  });
  const layout = joinLayout(spec, base, layers, `${store.dir}/runs/ID`);
  const program = toProgram(spec, user);
  const maps = { uids: toMapText(nestedExtents(uids)), gids: toMapText(nestedExtents(gids)) };
  return [
    section("start the holder, in new user and pid namespaces", planHolder()),
    section("prepare mount namespaces", planNamespaces(standing)),
    section("make a user and a network namespace", planPair(standing, spec.network)),
    section("map its ids", planIdMaps("PID", maps, standing)),
    section("make the sandbox", planSandbox(layout, planFacts(host, null))),
    section("start the command", planProcess(program, processFacts(host, user, layout, null))),
  ];
}

function section(title: string, plan: Plan): PlanSection {
  return { title, lines: plan.map(showStep) };
}
