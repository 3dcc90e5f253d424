// Node addresses. Valid only inside a lab's namespaces, so all labs use the same.

export const DEVICE = "eth0";
/** "02": locally administered; then letters that identify the lab in dumps. The last two bytes: node. */
const MAC_HEAD = [0x02, 0x49, 0x53, 0x4f] as const;

interface NodeAddresses {
  readonly v4: string;
  readonly v6: string;
  readonly mac: string;
}

export const V4_PREFIX_BITS = 16;
export const V6_PREFIX_BITS = 64;

export function nodeAddresses(index: number): NodeAddresses {
  const number = index + 1;
  const mac = [...MAC_HEAD, number >> 8, number & 0xff];
  return {
    v4: `10.83.${number >> 8}.${number & 0xff}`,
    v6: `fd49:534f:6c61:62::${number.toString(16)}`,
    mac: mac.map((byte) => byte.toString(16).padStart(2, "0")).join(":"),
  };
}

/** Node index of the MAC address at `offset`; -1 for another address, such as multicast. */
export function nodeOfMac(frame: Uint8Array, offset: number): number {
  for (let i = 0; i < MAC_HEAD.length; i++) if (frame[offset + i] !== MAC_HEAD[i]) return -1;
  return frame[offset + 4]! * 256 + frame[offset + 5]! - 1;
}

export function portName(index: number): string {
  return `n${index}`;
}
