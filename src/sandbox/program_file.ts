/** Programs of our own, each in a memfd that nobody can change: they need no file of the sandbox. */
import { F, F_SEAL, fcntl, machineCode, memfdCreateExecutable, write } from "../../ffi/mod.ts";

/** Gives a descriptor by which one of our programs can be executed. */
export function openProgram(name: "init" | "exec"): number {
  const fd = memfdCreateExecutable(`minisandbox-${name}`);
  write(fd, machineCode(name));
  const seals = F_SEAL.F_SEAL_SEAL | F_SEAL.F_SEAL_SHRINK | F_SEAL.F_SEAL_GROW |
    F_SEAL.F_SEAL_WRITE;
  fcntl(fd, F.F_ADD_SEALS, seals);
  return fd;
}
