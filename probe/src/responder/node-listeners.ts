import type { ListenerFactory } from "./listener.ts";
import { openNodeTcp } from "./node-tcp.ts";
import { openNodeUdp } from "./node-udp.ts";

/** Ports of responders on Node's sockets, the fallback without kernel sockets. */
export function nodeListeners(monotonic: () => number): ListenerFactory {
  return {
    openUdp: (responder, listen) => openNodeUdp(responder, listen, monotonic),
    openTcp: (responder, listen) => openNodeTcp(responder, listen, monotonic),
  };
}
