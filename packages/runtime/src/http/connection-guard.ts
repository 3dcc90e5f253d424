import type { FastifyInstance } from "fastify";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer, type TLSSocket } from "node:tls";
import { addressKey } from "./addresses.ts";
import type { HttpMetrics } from "./http-metrics.ts";
import { Tally } from "./tally.ts";

interface Connection {
  readonly socket: Socket;
  readonly key: string;
  /** Requests that are under way on it. */
  requests: number;
}

/**
 * Bounds the open connections of a server. Beyond the bound no newcomer is turned away: of the client with
 * the most connections the one closes that has had no request under way for the longest time. What has not
 * arrived in full is not under way.
 */
export class ConnectionGuard {
  readonly #max: number;
  readonly #metrics: HttpMetrics;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Of TLS connections whose handshake is not over: their requests come over another object. */
  readonly #handshakes = new Map<string, Connection>();
  readonly #perClient = new Tally();
  /** Connections without a request, the longest idle first. */
  readonly #idle = new Set<Connection>();
  readonly #idleOf = new Map<string, Set<Connection>>();
  #open = 0;

  constructor(app: FastifyInstance, max: number, metrics: HttpMetrics) {
    this.#max = max;
    this.#metrics = metrics;
    const { server } = app;
    server.prependListener("connection", (socket: Socket) =>
      this.#opened(socket, server instanceof TlsServer),
    );
    if (!(server instanceof TlsServer)) return;
    server.on("secureConnection", (socket: TLSSocket) => this.#secured(socket));
  }

  /** From now until the response is closed, a request is under way on the connection. */
  busy(socket: Socket, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.requests++;
    this.#setIdle(connection, false);
    response.once("close", () => {
      connection.requests--;
      if (connection.requests === 0 && !connection.socket.destroyed) this.#setIdle(connection, true);
    });
  }

  #opened(socket: Socket, isTls: boolean): void {
    const connection: Connection = { socket, key: addressKey(socket.remoteAddress), requests: 0 };
    const handshake = isTls ? handshakeKey(socket) : null;
    this.#connections.set(socket, connection);
    if (handshake !== null) this.#handshakes.set(handshake, connection);
    this.#open++;
    this.#perClient.increment(connection.key);
    this.#setIdle(connection, true);
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
    const heaviest = this.#perClient.heaviest;
    const [ofHeaviest] = (heaviest === null ? undefined : this.#idleOf.get(heaviest)) ?? [];
    const [longestIdle] = this.#idle;
    const victim = ofHeaviest ?? longestIdle;
    if (victim === undefined) return;
    // Forgotten at once: its socket's "close" comes a turn later, and more may be accepted in this one.
    this.#forget(victim);
    this.#metrics.refused("connection_closed");
    victim.socket.destroy();
  }

  #forget(connection: Connection): void {
    if (!this.#connections.delete(connection.socket)) return;
    this.#open--;
    this.#perClient.decrement(connection.key);
    this.#setIdle(connection, false);
  }

  #setIdle(connection: Connection, isIdle: boolean): void {
    let ofClient = this.#idleOf.get(connection.key);
    if (isIdle) {
      if (ofClient === undefined) this.#idleOf.set(connection.key, (ofClient = new Set()));
      this.#idle.add(connection);
      ofClient.add(connection);
      return;
    }
    this.#idle.delete(connection);
    ofClient?.delete(connection);
    if (ofClient?.size === 0) this.#idleOf.delete(connection.key);
  }
}

function handshakeKey({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
