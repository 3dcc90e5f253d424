import type { Libc, Poller } from "@isochrone/kernel-sockets";
import { KernelTcpListener, TcpMemory } from "./kernel-tcp.ts";
import { KernelUdpListener, UdpMemory } from "./kernel-udp.ts";
import type { ListenAddress, Listener, ListenerFactory } from "./listener.ts";
import type { Responder } from "./responder.ts";

interface KernelListenersDeps {
  readonly libc: Libc;
  /** Its owner also polls the ports. */
  readonly poller: Poller;
  readonly monotonic: () => number;
}

export class KernelListeners implements ListenerFactory {
  readonly #deps: KernelListenersDeps;
  readonly #udpMemory: UdpMemory;
  readonly #tcpMemory: TcpMemory;

  constructor(deps: KernelListenersDeps) {
    this.#deps = deps;
    this.#udpMemory = new UdpMemory(deps.libc);
    this.#tcpMemory = new TcpMemory(deps.libc);
  }

  async openUdp(responder: Responder, listen: ListenAddress): Promise<Listener> {
    return new KernelUdpListener(responder, listen, { ...this.#deps, memory: this.#udpMemory });
  }

  async openTcp(responder: Responder, listen: ListenAddress): Promise<Listener> {
    return new KernelTcpListener(responder, listen, { ...this.#deps, memory: this.#tcpMemory });
  }
}
