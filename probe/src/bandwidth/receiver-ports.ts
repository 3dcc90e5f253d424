import { KernelSocket, SYS, SystemCallError, type Libc } from "@isochrone/kernel-sockets";
import type { ReceiverConfig } from "./messages.ts";

export const MAX_WAITING = 8;
const RECEIVE_BUFFER_BYTES = 8_388_608;
const BIND_ATTEMPTS = 8;

interface ReceiverPorts {
  readonly listener: KernelSocket;
  readonly udp: KernelSocket;
  readonly port: number;
}

export function openPorts(libc: Libc, { port, bindAddress }: ReceiverConfig): ReceiverPorts {
  for (let attempt = 1; ; attempt++) {
    try {
      return openOnce(libc, bindAddress, port);
    } catch (error) {
      // A port that is free for TCP may be taken for UDP.
      const isTaken = error instanceof SystemCallError && error.code === "EADDRINUSE";
      if (port !== 0 || !isTaken || attempt === BIND_ATTEMPTS) throw error;
    }
  }
}

function openOnce(libc: Libc, bindAddress: string, port: number): ReceiverPorts {
  const family = bindAddress.includes(":") ? SYS.AF_INET6 : SYS.AF_INET;
  const listener = KernelSocket.open(libc, { family, type: SYS.SOCK_STREAM, protocol: 0 });
  let udp: KernelSocket | null = null;
  try {
    listener.setOption(SYS.SOL_SOCKET, SYS.SO_REUSEADDR, 1);
    listener.bind(bindAddress, port);
    const bound = listener.localAddress().port;
    udp = KernelSocket.open(libc, { family, type: SYS.SOCK_DGRAM, protocol: 0 });
    udp.setReceiveBuffer(RECEIVE_BUFFER_BYTES);
    udp.setOption(SYS.SOL_SOCKET, SYS.SO_RXQ_OVFL, 1);
    udp.enableTimestamps({ sends: false });
    udp.bind(bindAddress, bound);
    if (libc.listen(listener.fd, MAX_WAITING) < 0) throw new SystemCallError("listen", libc.lastError());
    return { listener, udp, port: bound };
  } catch (error) {
    listener.close();
    udp?.close();
    throw error;
  }
}
