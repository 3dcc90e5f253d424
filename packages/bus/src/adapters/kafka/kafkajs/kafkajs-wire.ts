import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";

import { delayMs } from "@isochrone/runtime";

import { BusError } from "../../../ports/errors.ts";
import { isRefusal } from "../client/kafka-errors.ts";
import { kafkajsError } from "./kafkajs-errors.ts";
import { apiKeys, createBroker, createPool, openSocket, requests } from "./kafkajs-library.ts";
import type { ConnectionPool, LibraryBroker, Protocol } from "./kafkajs-library.ts";
import { parseBroker, tlsOptions } from "../client/options.ts";
import type { KafkaClientOptions } from "../client/options.ts";

export interface Call {
  readonly api: string;
  readonly args: object;
  /** Decoder instead of the library's. */
  readonly decode?: (answer: Buffer) => unknown;
  /** Returns error codes to the caller instead of throwing. */
  readonly raw?: boolean;
}

interface Connected {
  readonly broker: LibraryBroker;
  readonly pool: ConnectionPool;
}

/** A failed connection is retried after a growing pause. Calls meanwhile fail with the last error. */
export class Link {
  readonly address: string;
  readonly #options: KafkaClientOptions;
  readonly #sockets = new Set<Socket>();
  #connected: Connected | null = null;
  #connecting: [Promise<void> | null, Promise<void> | null] = [null, null];
  #failures = 0;
  #pausedUntilMs = 0;
  #lastFailure: unknown = null;
  #closed = false;

  constructor(address: string, options: KafkaClientOptions) {
    this.address = address;
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#connected?.pool.pool.some((connection) => connection.isConnected()) ?? false;
  }

  /** Milliseconds until the next connection attempt. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#options.clock.monotonic());
  }

  async call({ api, args, decode, raw }: Call): Promise<unknown> {
    const index = api === "Fetch" ? 1 : 0;
    const { broker, pool } = await this.#connect(index);
    const protocol = broker.lookupRequest(apiKeys[api] ?? -1, requests[api])(args);
    const connection = await pool.getConnection(index);
    try {
      return await connection.send({
        ...protocol,
        response: decode || raw ? lenient(protocol, decode) : protocol.response,
        logResponseError: false,
      });
    } catch (error) {
      // A broker that missed one timeout may never answer on this connection. Drop it, so that queued
      // requests don't wait as long.
      if (error instanceof Error && error.name === "KafkaJSRequestTimeoutError") this.#drop(error);
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    this.#drop(new BusError("closed", "the Kafka bus is closed"));
  }

  async #connect(index: 0 | 1): Promise<Connected> {
    if (this.#closed) throw new BusError("closed", "the Kafka bus is closed");
    const { pool } = this.#connected ?? {};
    // A connected socket is usable only after the handshakes.
    if (this.#connecting[index] !== null || pool?.pool[index]?.isConnected() !== true) {
      this.#connecting[index] ??= this.#open(index).finally(() => (this.#connecting[index] = null));
      await this.#connecting[index];
    }
    if (this.#connected === null) throw this.#lastFailure;
    return this.#connected;
  }

  async #open(index: 0 | 1): Promise<void> {
    if (this.pauseMs > 0) throw this.#lastFailure;
    const connected = (this.#connected ??= this.#create());
    try {
      await connected.broker.connect();
      const connection = await connected.pool.getConnection(index);
      await connection.authenticate();
      this.#failures = 0;
    } catch (error) {
      this.#noteFailure(error);
      throw error;
    }
  }

  #noteFailure(error: unknown): void {
    const { retryInitialMs, retryMaxMs, clock, random } = this.#options;
    this.#failures += 1;
    this.#lastFailure = error;
    const delays = { initialMs: retryInitialMs, maxMs: retryMaxMs, factor: 2, jitterRatio: 0.2 };
    const refused = isRefusal(kafkajsError(error, "connecting"));
    const ms = refused ? retryMaxMs : delayMs(delays, this.#failures, random);
    this.#pausedUntilMs = clock.monotonic() + ms;
    this.#drop(error instanceof Error ? error : new Error(String(error)));
  }

  /** The next call reconnects. Half-open connections and failed handshakes are unusable. */
  #drop(error: Error): void {
    for (const connection of this.#connected?.pool.pool ?? []) connection.rejectRequests(error);
    this.#connected = null;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  #create(): Connected {
    const { clientId, connectTimeoutMs, requestTimeoutMs } = this.#options;
    const pool = createPool({
      ...parseBroker(this.address),
      rack: null,
      clientId,
      ssl: this.#ssl(),
      sasl: this.#sasl(),
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      socketFactory: (request) => {
        const socket = openSocket(request);
        this.#sockets.add(socket);
        socket.once("close", () => this.#sockets.delete(socket));
        return socket;
      },
    });
    return { pool, broker: createBroker(pool, connectTimeoutMs) };
  }

  #ssl(): ConnectionOptions | null {
    const { tls } = this.#options;
    return tls === undefined ? null : tlsOptions(tls);
  }

  #sasl(): object | null {
    const { sasl } = this.#options;
    if (sasl === undefined) return null;
    return {
      mechanism: sasl.mechanism,
      username: sasl.username,
      get password() {
        return sasl.password.reveal();
      },
    };
  }
}

function lenient(protocol: Protocol, decode: Call["decode"]): Protocol["response"] {
  return {
    decode: async (answer) => (decode ? decode(answer) : await protocol.response.decode(answer)),
    parse: async (decoded) => decoded,
  };
}
