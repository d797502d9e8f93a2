/** What the file system refuses the store, in words for a person. */
import { SyscallError } from "../../ffi/mod.ts";
import { HostError, messageOf, MinisandboxError } from "../errors.ts";

/** Turns something thrown while the store was written into the error that names it. */
export function explainFailure(store: string, error: unknown): unknown {
  if (error instanceof MinisandboxError || !(error instanceof Error)) return error;
  const isRefusal = error instanceof SyscallError ||
    ("code" in error && typeof error.code === "string");
  if (!isRefusal) return error;
  return new HostError(`Cannot write to the store ${JSON.stringify(store)}: ${messageOf(error)}`, {
    remedy: /ENOSPC|EDQUOT|os error 28|os error 122/.test(messageOf(error))
      ? "Free some space, or give another directory with --store DIR."
      : "Give a directory that you may write with --store DIR or MINISANDBOX_STORE.",
    cause: error,
  });
}
