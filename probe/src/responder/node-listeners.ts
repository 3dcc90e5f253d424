import type { ListenerFactory } from "./listener.ts";
import { openNodeTcp } from "./node-tcp.ts";
import { openNodeUdp } from "./node-udp.ts";

export function nodeListeners(monotonic: () => number): ListenerFactory {
  return {
    openUdp: (responder, listen) => openNodeUdp(responder, listen, monotonic),
    openTcp: (responder, listen) => openNodeTcp(responder, listen, monotonic),
  };
}
