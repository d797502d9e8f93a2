/** Binds every function of libc before a test begins, so that none seems to be a leak of that test. */
import { libc } from "../../ffi/libc.ts";

Object.values(libc);
