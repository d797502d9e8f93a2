/** Which machine this is: what depends on the processor is chosen by it. */

/** The processors the engine has code for. */
export type Machine = "x86_64" | "aarch64";

/** The processor this program runs on. */
export const machine: Machine = Deno.build.arch as Machine;
