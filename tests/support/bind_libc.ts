/** Binds every function of libc before a test begins, so that none seems to be a leak of that test. */
import { bindAll } from "../../ffi/libc.ts";

bindAll();
