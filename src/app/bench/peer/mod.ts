/** All systems that the bench knows, ours first. */
import type { Peer } from "../peer.ts";
import { bare } from "./bare.ts";
import { bwrap } from "./bwrap.ts";
import { docker, podman } from "./container.ts";
import { minisandbox } from "./minisandbox.ts";
import { crun, runc } from "./oci.ts";
import { overlay } from "./overlay.ts";
import { fastPexpect, pexpect } from "./pexpect.ts";
import { tar } from "./tar.ts";
import { untar } from "./untar.ts";

/** In the order in which they are shown. */
export const PEERS: readonly Peer[] = [
  minisandbox,
  bare,
  bwrap,
  crun,
  runc,
  docker,
  podman,
  overlay,
  untar,
  pexpect,
  fastPexpect,
  tar,
];
