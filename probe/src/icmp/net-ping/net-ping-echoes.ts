import { codeOf, reasonOf } from "@isochrone/primitives";
import { canonicalAddress } from "../canonical-address.ts";
import { ECHO_HEADER_BYTES, EchoCodec } from "../echo-packet.ts";
import type { EchoHandlers, EchoPort, EchoRoute, EchoTarget } from "../echo-port.ts";
import type { NetPing, NetPingRequest, NetPingSession } from "./module.ts";

const REQUEST_TIMEOUT_MS = 10_000;
const HOP_LIMIT = 64;
const IPPROTO_IP = 0;
const IP_TOS = 1;
const IPPROTO_IPV6 = 41;
const IPV6_TCLASS = 67;

interface Request extends NetPingRequest {
  readonly number: number;
  readonly dscp: number;
  readonly payloadBytes: number;
  departedNs: number;
}

type Session = NetPingSession<Request>;

/**
 * Echoes through net-ping, with nanosecond stamps around its system calls, our own packets (nonce, full
 * sequence, pattern), checked sources and no retries. The event loop still adds delay. Needs its own process:
 * the native part works in one thread per process.
 */
export class NetPingEchoes implements EchoPort {
  readonly stampedBy = "user";
  readonly #netPing: NetPing;
  readonly #identity: { readonly id: number; readonly nonce: bigint };
  readonly #sessions = new Map<4 | 6, Session>();
  #handlers: EchoHandlers | null = null;

  /** @param id 1 to 65534. @throws Error if IPv4 cannot be opened, for example without CAP_NET_RAW */
  constructor(netPing: NetPing, identity: { readonly id: number; readonly nonce: bigint }) {
    this.#netPing = netPing;
    this.#identity = identity;
    this.#session(4);
  }

  open({ address, family, dscp, payloadBytes }: EchoTarget): EchoRoute {
    return {
      queue: (number) => {
        try {
          this.#session(family).reqQueue({
            id: number,
            retries: 0,
            timeout: REQUEST_TIMEOUT_MS,
            target: address,
            callback: () => {},
            number,
            dscp,
            payloadBytes,
            departedNs: Number.NaN,
          });
        } catch (error) {
          queueMicrotask(() => this.#handlers?.onRefused(number, systemReason(error)));
        }
      },
      close: () => {},
    };
  }

  /** net-ping sends by itself from the event loop. */
  flush(handlers: EchoHandlers): void {
    this.#handlers = handlers;
  }

  drain(handlers: EchoHandlers): void {
    this.#handlers = handlers;
  }

  wait(): boolean {
    return false;
  }

  nap(): boolean {
    return false;
  }

  close(): void {
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
    this.#handlers = null;
  }

  #session(family: 4 | 6): Session {
    const known = this.#sessions.get(family);
    if (known !== undefined) return known;
    const session = this.#createSession(family);
    session.on("error", () => {});
    session.on("close", () => {});
    this.#sessions.set(family, session);
    return session;
  }

  #createSession(family: 4 | 6): Session {
    const { id, nonce } = this.#identity;
    const codec = new EchoCodec({ family, id, nonce });
    const heard = (): EchoHandlers | null => this.#handlers;
    const { Session, NetworkProtocol } = this.#netPing;
    let tos = 0;
    class EchoSession extends Session<Request> {
      override toBuffer({ number, payloadBytes }: Request): Buffer {
        const packet = Buffer.alloc(ECHO_HEADER_BYTES + payloadBytes);
        codec.write(packet, number);
        return packet;
      }

      override onBeforeSocketSend(request: Request): void {
        const wanted = request.dscp << 2;
        if (wanted !== tos) {
          tos = wanted;
          if (family === 4) this.getSocket().setOption(IPPROTO_IP, IP_TOS, tos);
          else this.getSocket().setOption(IPPROTO_IPV6, IPV6_TCLASS, tos);
        }
        request.departedNs = nowNs();
      }

      override onSocketSend(request: Request, error: Error | null | undefined, bytes: number): void {
        super.onSocketSend(request, error, bytes);
        if (error) {
          heard()?.onRefused(request.number, systemReason(error));
          return;
        }
        heard()?.onAccepted(request.number);
        heard()?.onDeparted(request.number, request.departedNs);
      }

      override onSocketMessage(message: Buffer, from: string): void {
        const receivedNs = nowNs();
        const offset = family === 4 ? (message[0]! & 15) * 4 : 0;
        const length = message.length - offset;
        const reply = codec.read(message, offset, length);
        if (reply.kind === "foreign") return;
        const source = canonicalAddress(from).address;
        if (reply.kind === "corrupt") {
          heard()?.onCorrupt(reply.sequence, reply.shortSequence, source);
          return;
        }
        const payloadBytes = length - ECHO_HEADER_BYTES;
        if (this.reqs[reply.sequence]?.target === source) this.reqRemove(reply.sequence);
        heard()?.onReply(reply.sequence, { source, receivedNs, hops: -1, payloadBytes });
      }
    }
    return new EchoSession({
      networkProtocol: family === 4 ? NetworkProtocol.IPv4 : NetworkProtocol.IPv6,
      packetSize: ECHO_HEADER_BYTES,
      retries: 0,
      sessionId: id,
      timeout: REQUEST_TIMEOUT_MS,
      ttl: HOP_LIMIT,
    });
  }
}

function nowNs(): number {
  return performance.now() * 1e6;
}

/** Extracts the system's error name; raw-socket only gives prose. */
function systemReason(error: unknown): string {
  const message = reasonOf(error);
  const words: Readonly<Record<string, string>> = {
    "Network is unreachable": "ENETUNREACH",
    "No route to host": "EHOSTUNREACH",
    "Operation not permitted": "EPERM",
    "Permission denied": "EACCES",
    "Network is down": "ENETDOWN",
    "Message too long": "EMSGSIZE",
    "No buffer space available": "ENOBUFS",
    "Address family not supported by protocol": "EAFNOSUPPORT",
  };
  return codeOf(error) ?? words[message] ?? "send_failed";
}
