import type { Server, Socket } from "node:net";
import { Server as TlsServer, type TLSSocket } from "node:tls";
import { addressKey } from "./addresses.ts";
import type { HttpMetrics } from "./http-metrics.ts";
import { Tally } from "./tally.ts";

interface Connection {
  readonly socket: Socket;
  readonly key: string;
  requests: number;
  /** Increases with each answer or opening, over all connections. */
  turn: number;
}

/**
 * Bounds open connections. Beyond the bound the longest idle connection of the client with the most is
 * closed, and newcomers are accepted. Incomplete requests don't count as in flight.
 */
export class ConnectionGuard {
  readonly #max: number;
  readonly #metrics: Pick<HttpMetrics, "refused">;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** TLS connections in handshake; their requests arrive on another object. */
  readonly #handshakes = new Map<string, Connection>();
  readonly #perClient = new Tally();
  readonly #byTurn = new Map<string, Set<Connection>>();
  #open = 0;
  #turns = 0;

  constructor(server: Server, max: number, metrics: Pick<HttpMetrics, "refused">) {
    this.#max = max;
    this.#metrics = metrics;
    server.prependListener("connection", (socket: Socket) =>
      this.#opened(socket, server instanceof TlsServer),
    );
    if (!(server instanceof TlsServer)) return;
    server.on("secureConnection", (socket: TLSSocket) => this.#secured(socket));
  }

  /** Marks a request in flight until {@link answered}. Null for an unknown connection. */
  busy(socket: Socket): Connection | null {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return null;
    connection.requests++;
    return connection;
  }

  answered(connection: Connection): void {
    connection.requests--;
    if (connection.turn === this.#turns) return;
    const ofClient = this.#byTurn.get(connection.key);
    if (ofClient?.delete(connection) !== true) return;
    connection.turn = ++this.#turns;
    ofClient.add(connection);
  }

  #opened(socket: Socket, isTls: boolean): void {
    const key = addressKey(socket.remoteAddress);
    const connection: Connection = { socket, key, requests: 0, turn: ++this.#turns };
    const handshake = isTls ? handshakeKey(socket) : null;
    this.#connections.set(socket, connection);
    if (handshake !== null) this.#handshakes.set(handshake, connection);
    this.#open++;
    this.#perClient.increment(key);
    const ofClient = this.#byTurn.get(key);
    if (ofClient === undefined) this.#byTurn.set(key, new Set([connection]));
    else ofClient.add(connection);
    socket.once("close", () => {
      if (handshake !== null && this.#handshakes.get(handshake) === connection)
        this.#handshakes.delete(handshake);
      this.#forget(connection);
    });
    if (this.#open > this.#max) this.#makeRoom();
  }

  #secured(socket: TLSSocket): void {
    const key = handshakeKey(socket);
    const connection = this.#handshakes.get(key);
    if (connection === undefined) return;
    this.#handshakes.delete(key);
    this.#connections.set(socket, connection);
  }

  #makeRoom(): void {
    const { heaviest } = this.#perClient;
    const victim = firstIdle(this.#byTurn.get(heaviest ?? "")) ?? this.#longestIdle();
    if (victim === undefined) return;
    // Removed at once: the socket's "close" comes a turn later, and more may be accepted before.
    this.#forget(victim);
    this.#metrics.refused("connection_closed");
    victim.socket.destroy();
  }

  /** Call before closing: Node.js waits for connections that have never sent anything. */
  closeUnused(): void {
    for (const ofClient of this.#byTurn.values())
      for (const { socket } of ofClient) if (socket.bytesRead === 0) socket.destroy();
  }

  closeAll(): void {
    for (const ofClient of this.#byTurn.values()) for (const { socket } of ofClient) socket.destroy();
  }

  #longestIdle(): Connection | undefined {
    let longest: Connection | undefined;
    for (const ofClient of this.#byTurn.values()) {
      const idle = firstIdle(ofClient);
      if (idle !== undefined && (longest === undefined || idle.turn < longest.turn)) longest = idle;
    }
    return longest;
  }

  #forget(connection: Connection): void {
    const { socket, key } = connection;
    const ofClient = this.#byTurn.get(key);
    if (ofClient?.delete(connection) !== true) return;
    this.#connections.delete(socket);
    this.#open--;
    this.#perClient.decrement(key);
    if (ofClient.size === 0) this.#byTurn.delete(key);
  }
}

/** Skips at most as many as have requests in flight. */
function firstIdle(byTurn: Iterable<Connection> = []): Connection | undefined {
  for (const connection of byTurn) if (connection.requests === 0) return connection;
  return undefined;
}

function handshakeKey({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
