import { KernelSocket, ReceiveBatch, SYS } from "@isochrone/kernel-sockets";
import { MAX_PACKET_BYTES } from "../../domain/packet.ts";
import { errnoOf } from "../sockets.ts";
import { localAddressFor, targetOf } from "./addresses.ts";
import { KernelDatagram } from "./kernel-datagram.ts";
import { KernelStream } from "./kernel-stream.ts";
import type { DatagramEvents, DatagramSocket, Remote, Sockets, StreamEvents, StreamSocket } from "./port.ts";
import type { KernelSocketsDeps, KernelSurroundings } from "./kernel-surroundings.ts";

/** Truncates longer packets, but not to a valid length. */
const DATAGRAM_BYTES = MAX_PACKET_BYTES + 1;
const STREAM_BYTES = 16_384;
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Kernel sockets without Node in between: every packet and departure has a kernel stamp. */
export class KernelSockets implements Sockets {
  readonly stamps = "kernel";
  readonly #shared: KernelSurroundings;
  /** Keeps stamping enabled: the kernel takes a while to begin when the first socket asks for it. */
  readonly #keeper: KernelSocket;

  constructor(deps: KernelSocketsDeps) {
    const { libc } = deps;
    this.#keeper = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
    this.#keeper.enableTimestamps({ sends: false });
    this.#shared = {
      ...deps,
      datagrams: new ReceiveBatch(libc, 1, DATAGRAM_BYTES),
      chunks: new ReceiveBatch(libc, 1, STREAM_BYTES),
      stamps: new ReceiveBatch(libc, 1, 1),
    };
  }

  openDatagram(remote: Remote, events: DatagramEvents): DatagramSocket {
    let socket: KernelSocket | null = null;
    try {
      const target = targetOf(remote.address);
      socket = this.#open(remote, target.family, SYS.SOCK_DGRAM);
      socket.bind(localAddressFor(remote.bindAddress, target.family), 0);
      socket.connect(target.ip, remote.port);
      return new KernelDatagram(socket, this.#shared, events);
    } catch (error) {
      socket?.close();
      this.#shared.soon(() => events.onError(errnoOf(error)));
      return { send: () => "not_open", close: () => {} };
    }
  }

  openStream(remote: Remote, events: StreamEvents): StreamSocket {
    let socket: KernelSocket | null = null;
    let startedMs = this.#shared.monotonic();
    try {
      const target = targetOf(remote.address);
      socket = this.#open(remote, target.family, SYS.SOCK_STREAM);
      socket.setOption(SYS.IPPROTO_TCP, SYS.TCP_NODELAY, 1);
      socket.resetOnClose();
      const local = localAddressFor(remote.bindAddress, target.family);
      // Unbound, so that the kernel may use one local port for several peers.
      if (!ANY_ADDRESS.has(local)) socket.bind(local, 0);
      startedMs = this.#shared.monotonic();
      socket.connect(target.ip, remote.port);
      return new KernelStream(socket, this.#shared, events, startedMs);
    } catch (error) {
      socket?.close();
      this.#shared.soon(() => events.onClosed(errnoOf(error)));
      return {
        startedMs,
        handshakeMs: () => Number.NaN,
        write: () => "not_open",
        close: () => {},
      };
    }
  }

  close(): void {
    this.#keeper.close();
    const { datagrams, chunks, stamps } = this.#shared;
    for (const batch of [datagrams, chunks, stamps]) batch.free();
  }

  #open({ dscp }: Remote, family: 4 | 6, type: number): KernelSocket {
    const kernelFamily = family === 4 ? SYS.AF_INET : SYS.AF_INET6;
    const socket = KernelSocket.open(this.#shared.libc, { family: kernelFamily, type, protocol: 0 });
    if (dscp > 0) {
      // The two low bits are for congestion notification.
      if (family === 4) socket.setOption(SYS.SOL_IP, SYS.IP_TOS, dscp << 2);
      else socket.setOption(SYS.SOL_IPV6, SYS.IPV6_TCLASS, dscp << 2);
    }
    return socket;
  }
}
