/** Use case: what this host can do, found by trying. */
import { cgroupProbes } from "./cgroup.ts";
import { containerProbe } from "./container.ts";
import type { Finding } from "./finding.ts";
import { identityProbe } from "./identity.ts";
import { kernelProbes } from "./kernel.ts";
import { mountProbes } from "./mount.ts";
import { namespaceProbes } from "./namespace.ts";
import { examine, type Probe } from "./probe.ts";
import { programProbes } from "./program.ts";
import { quotaProbes } from "./quota.ts";
import { resourceProbes } from "./resource.ts";
import { Subject, type Wish } from "./subject.ts";
import { trialProbe } from "./trial.ts";

export type { Finding, Status } from "./finding.ts";
export type { Wish } from "./subject.ts";

/** All checks; the last decides. */
const PROBES: readonly Probe[] = [
  ...kernelProbes,
  containerProbe,
  ...namespaceProbes,
  identityProbe,
  ...mountProbes,
  ...resourceProbes,
  ...quotaProbes,
  ...cgroupProbes,
  ...programProbes,
  trialProbe,
];

/** Does each check and gives what it came to; the last says whether sandboxes can be made. */
export async function* diagnose(wish: Wish): AsyncGenerator<Finding> {
  using subject = new Subject(wish);
  for (const probe of PROBES) yield await examine(probe, subject);
}
