/** Engine: one sandbox, from wish to end. */
export { generatedEtc } from "./base/etc.ts";
export { cutHostTree, type HostTree, listDirectory, type Listing } from "./base/host_tree.ts";
export { type FileInfo, type FileType } from "./file/file_info.ts";
export { type FileOwner, Files, type ListedFile } from "./file/files.ts";
export { parseInsidePath, showPath, toPathBytes } from "./file/path.ts";
export { readFileInside } from "./file/read.ts";
export { writeFile, type WriteOptions } from "./file/write.ts";
export { holdsMount, parseMountPoints } from "./base/mount_point.ts";
export {
  giveTree,
  hostRootState,
  makeHostRoot,
  makeSite,
  MOUNT_POINTS,
  type Site,
  siteState,
} from "./base/root_tree.ts";
export { readFileBeneath } from "./base/root_file.ts";
export { makeSkeleton, skeletonState } from "./base/skeleton.ts";
export { type Controller, CONTROLLERS, findHierarchy } from "./cgroup/hierarchy.ts";
export { type Docker, dockerRemedy, readDocker, storeOptions } from "./docker.ts";
export { Engine } from "./engine.ts";
export type { Usage } from "./cgroup/group.ts";
export { CgroupParent, cgroupRemedy } from "./cgroup/parent.ts";
export { DEFAULT_LIMITS, type Limits, NO_LIMITS } from "./limit.ts";
export { planFacts, processFacts } from "./facts.ts";
export { fileSystemOf, freeSpace, holdsAttributes } from "./file_system.ts";
export { CAPABILITIES, type Capability, type Hardening, USUAL_HARDENING } from "./harden.ts";
export {
  MAX_LOWERS,
  planHolder,
  planIdMaps,
  planNamespaces,
  planPair,
  USUAL_TEMPLATE,
} from "./holder_plan.ts";
export { expectCrowd, findProgram, type Host, probeHost, readIdentityFacts } from "./host.ts";
export {
  chooseIdentity,
  type Identity,
  type IdentityFacts,
  type IdExtent,
  isMapped,
  nestedExtents,
  standingOf,
  toMapText,
} from "./identity.ts";
export type { Hull } from "./hull.ts";
export {
  type Bind,
  type HullWish,
  type Layout,
  type Lower,
  type Part,
  type ShownUser,
  toHullWish,
  type Upper,
} from "./layout.ts";
export type { Network } from "./network_plan.ts";
export type { Thaw } from "./freeze.ts";
export { Process, type Waited } from "./process.ts";
export {
  type Answer,
  findMissingCalls,
  type NamespaceKind,
  probeMemoryXattr,
  probeNamespaces,
  probeSeccomp,
} from "./probe.ts";
export { type Channel, openChannel, removeChannel } from "./channel.ts";
export { type ProcessEntry, ProcessTable } from "./process_table.ts";
export { planProcess, type Program } from "./process_plan.ts";
export { shareOf } from "./quota.ts";
export { type Pty, Sandbox, type Stdio } from "./sandbox.ts";
export { planSandbox } from "./sandbox_plan.ts";
export { countLowers } from "./tree_plan.ts";
export { SIGNAL_NAMES, type SignalName, signalName, signalNumber } from "./signal.ts";
export { type Plan, showStep } from "./step.ts";
