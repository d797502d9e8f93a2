/** What a caller asks for, completed by its environment, its base and our defaults. */
import type { Store } from "../store/mod.ts";
import type { EnvironmentFile } from "./environment.ts";
import { type BaseFile, isBaseName, NO_CONFIG } from "./named_base.ts";
import { DEFAULT_SPEC, type SandboxSpec } from "./spec.ts";

/** A spec in which some things may be left to others: null is what is not said. */
export interface SpecWish extends Omit<SandboxSpec, "base" | "workdir" | "user"> {
  /** The name of an imported environment. */
  readonly environment: string | null;
  readonly base: string | null;
  readonly workdir: string | null;
  readonly user: string | number | null;
}

/** Nothing is said. */
export const DEFAULT_WISH: SpecWish = {
  ...DEFAULT_SPEC,
  environment: null,
  base: null,
  workdir: null,
  user: null,
};

/**
 * Completes a wish: what it says itself comes first, then its environment, then its base.
 *
 * @throws {NotFoundError | UsageError} If there is no such environment or base.
 */
export function settleSpec({ names }: Store, wish: SpecWish): SandboxSpec {
  const { environment: name, ...rest } = wish;
  const environment = name === null ? null : names.read<EnvironmentFile>("environment", name);
  const base = wish.base ?? environment?.base ?? DEFAULT_SPEC.base;
  const config = isBaseName(base) ? names.read<BaseFile>("base", base).config : NO_CONFIG;
  return {
    ...rest,
    base,
    layers: [...environment?.layers ?? [], ...wish.layers],
    env: { ...config.env, ...environment?.env, ...wish.env },
    workdir: wish.workdir ?? environment?.workdir ?? config.workdir ?? DEFAULT_SPEC.workdir,
    user: wish.user ?? config.user ?? DEFAULT_SPEC.user,
  };
}
