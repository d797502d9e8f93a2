/** An interpreter of classic BPF on bytes, as the kernel runs seccomp filters (linux/filter.h). */

/** A system call as a filter sees it (`struct seccomp_data`). */
export interface SeccompData {
  readonly number: number;
  readonly arch: number;
  readonly args?: readonly bigint[];
}

/** Runs a filter, and gives what it returns. */
export function runFilter(program: Uint8Array, { number, arch, args = [] }: SeccompData): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  args.forEach((arg, i) => data.setBigUint64(16 + 8 * i, arg, true));
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const count = program.byteLength / 8;
  let accumulator = 0;
  for (let at = 0; at < count; at++) {
    const operation = code.getUint16(8 * at, true);
    const k = code.getUint32(8 * at + 4, true);
    const jump = (isTrue: boolean) => code.getUint8(8 * at + (isTrue ? 2 : 3));
    switch (operation) {
      case 0x20: // ld [k]
        accumulator = data.getUint32(k, true);
        break;
      case 0x54: // and #k
        accumulator = (accumulator & k) >>> 0;
        break;
      case 0x05: // ja
        at += k;
        break;
      case 0x15: // jeq #k
        at += jump(accumulator === k);
        break;
      case 0x25: // jgt #k
        at += jump(accumulator > k);
        break;
      case 0x35: // jge #k
        at += jump(accumulator >= k);
        break;
      case 0x45: // jset #k
        at += jump((accumulator & k) !== 0);
        break;
      case 0x06: // ret #k
        return k;
      default:
        throw new Error(`Cannot run operation 0x${operation.toString(16)}`);
    }
  }
  throw new Error("Cannot run past the end");
}
