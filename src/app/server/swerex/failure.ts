/** Failures as SWE-ReX clients raise them: by the path of a Python class (status 511). */
import { BusyError, GoneError, MinisandboxError, NotFoundError } from "../../../errors.ts";

/** Classes that clients find where they import them from. */
export const RAISED = {
  sessionExists: "swerex.exceptions.SessionExistsError",
  noSession: "swerex.exceptions.SessionDoesNotExistError",
  nonZeroExit: "swerex.exceptions.NonZeroExitCodeError",
  noExitCode: "swerex.exceptions.NoExitCodeError",
  syntax: "swerex.exceptions.BashIncorrectSyntaxError",
  timeout: "swerex.exceptions.CommandTimeoutError",
  notStarted: "swerex.exceptions.DeploymentStartupError",
  other: "swerex.exceptions.SwerexException",
  startupTimeout: "pexpect.exceptions.TIMEOUT",
  pattern: "re.error",
  badZip: "zipfile.BadZipFile",
  noFile: "builtins.FileNotFoundError",
  isDirectory: "builtins.IsADirectoryError",
  isNoDirectory: "builtins.NotADirectoryError",
  denied: "builtins.PermissionError",
  os: "builtins.OSError",
  value: "builtins.ValueError",
  encoding: "builtins.LookupError",
  decode: "builtins.UnicodeDecodeError",
  encode: "builtins.UnicodeEncodeError",
} as const;

/** A failure that the client raises as its class says. */
export class Raised extends Error {
  readonly classPath: string;
  readonly extraInfo: Readonly<Record<string, string>>;

  constructor(
    kind: keyof typeof RAISED,
    message: string,
    { cause, extraInfo = {} }: {
      readonly cause?: unknown;
      readonly extraInfo?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.classPath = RAISED[kind];
    this.extraInfo = extraInfo;
  }
}

/** An answer before it is sent. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Whether a sandbox was asked: then it is not to be asked again by the same request. */
  readonly isFinal: boolean;
}

/** A refusal that is none of the sandbox's: `{"detail": …}`. */
export function refuse(status: number, detail: unknown): Answer {
  return { status, body: { detail }, isFinal: false };
}

/** What a client gets of whom all went well. */
export function succeed(body: unknown): Answer {
  return { status: 200, body, isFinal: true };
}

/** What a client gets that has named no sandbox that can be used. */
export function toRefusal(error: unknown): Answer {
  if (error instanceof NotFoundError || error instanceof GoneError) {
    return refuse(404, error.message);
  }
  if (error instanceof BusyError) return refuse(503, error.message);
  if (error instanceof MinisandboxError) {
    return { ...toAnswer(new Raised("notStarted", error.message)), isFinal: false };
  }
  throw error;
}

/** What a client gets that raises it. @throws What is no failure, but a fault of ours. */
export function toAnswer(error: unknown): Answer {
  if (error instanceof Raised) {
    return {
      status: 511,
      isFinal: true,
      body: {
        swerexception: {
          message: error.message,
          class_path: error.classPath,
          traceback: "",
          extra_info: error.extraInfo,
        },
      },
    };
  }
  if (error instanceof MinisandboxError) return toAnswer(new Raised("other", error.message));
  throw error;
}
