import { codeOf, reasonOf } from "@isochrone/primitives";

// The used parts of net-ping 1.2.4 and raw-socket 1.8.1, which have no types. See
// node_modules/net-ping/index.js.

export interface NetPingRequest {
  readonly id: number;
  readonly retries: number;
  readonly timeout: number;
  readonly target: string;
  readonly callback: (error: Error | null) => void;
}

interface NetPingSocket {
  setOption(level: number, option: number, value: Buffer | number, length?: number): void;
}

/** Some methods are overridden: net-ping stamps in milliseconds, sends zeros and ignores the source. */
export interface NetPingSession<R extends NetPingRequest> {
  readonly reqs: Record<number, R | undefined>;
  getSocket(): NetPingSocket;
  reqQueue(request: R): void;
  reqRemove(id: number): void;
  close(): void;
  on(event: "error" | "close", listener: (error?: Error) => void): void;
  onBeforeSocketSend(request: R): void;
  onSocketSend(request: R, error: Error | null | undefined, bytes: number): void;
  onSocketMessage(message: Buffer, source: string): void;
  toBuffer(request: R): Buffer;
}

export interface NetPing {
  readonly NetworkProtocol: { readonly IPv4: number; readonly IPv6: number };
  readonly Session: new <R extends NetPingRequest>(options: {
    readonly networkProtocol: number;
    readonly packetSize: number;
    readonly retries: number;
    readonly sessionId: number;
    readonly timeout: number;
    readonly ttl: number;
  }) => NetPingSession<R>;
}

/** As required by raw-socket's index.js; npm install does not build it. */
const NATIVE_PART = "build/Release/raw.node";

/** Rejects with the reason if it is not installed or its native part is not built for this Node. */
export async function loadNetPing(name: string = "net-ping"): Promise<NetPing> {
  // A variable name in the import: the module is optional and must not be resolved early.
  try {
    const { default: module } = (await import(name)) as { readonly default: NetPing };
    return module;
  } catch (error) {
    throw new Error(reasonAgainst(name, error), { cause: error });
  }
}

function reasonAgainst(name: string, error: unknown): string {
  const code = codeOf(error);
  const message = reasonOf(error);
  if (code === "ERR_MODULE_NOT_FOUND" && message.includes(name)) return `${name} is not installed`;
  if (code === "MODULE_NOT_FOUND" && message.includes(NATIVE_PART))
    return `the native part of ${name} is not built: npm run build:net-ping builds it`;
  return `${name} can't be loaded: ${message.split("\n")[0]}`;
}

/** Why net-ping cannot be used here; null: it can, given the right to open raw sockets. */
export async function netPingObstacle(): Promise<string | null> {
  try {
    await loadNetPing();
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}
