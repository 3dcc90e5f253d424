import { KernelSocket, SYS, type Libc } from "@isochrone/kernel-sockets";
import { NamespaceError } from "./errors.ts";

const IFREQ_BYTES = 40;
const IFREQ_NAME_BYTES = 16;

/** SIOCETHTOOL commands (linux/ethtool.h) that switch one offload each; dependents first. */
const SWITCHES = {
  "tcp segmentation": 0x1f,
  "generic segmentation": 0x24,
  "scatter-gather": 0x19,
  "transmit checksums": 0x17,
  "generic receive": 0x2c,
} as const;

/**
 * Disables offloads, so that frames have checksums and fit the MTU as on a cable. A veth otherwise passes
 * unfinished frames. Like `ethtool -K DEVICE tx off ...`.
 * @throws NamespaceError `system_call_failed`
 */
export function switchOffloadsOff(libc: Libc, device: string): void {
  const socket = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
  const request = libc.block(IFREQ_BYTES);
  const value = libc.block(8);
  try {
    request.bytes.write(device, 0, IFREQ_NAME_BYTES - 1, "latin1");
    request.view.setBigUint64(IFREQ_NAME_BYTES, value.address, true);
    for (const [name, command] of Object.entries(SWITCHES)) {
      value.view.setUint32(0, command, true);
      value.view.setUint32(4, 0, true);
      if (libc.ioctl(socket.fd, SYS.SIOCETHTOOL, request) === 0) continue;
      throw new NamespaceError("system_call_failed", `${device}: ${name} offload off: ${libc.lastError()}`);
    }
  } finally {
    libc.free(request);
    libc.free(value);
    socket.close();
  }
}
