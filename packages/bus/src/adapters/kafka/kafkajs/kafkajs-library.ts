// Uses kafkajs' private modules for connections, authentication and request encoding, but not its producer
// and consumer (reasons: docs/kafka.md). The version is pinned; the last release is from 2023.
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";

export interface Protocol {
  readonly request: unknown;
  readonly response: {
    decode(answer: Buffer): Promise<unknown>;
    parse(decoded: unknown): Promise<unknown>;
  };
  readonly requestTimeout?: number;
}

interface Connection {
  isConnected(): boolean;
  authenticate(): Promise<void>;
  send(protocol: Protocol & { readonly logResponseError: boolean }): Promise<unknown>;
  rejectRequests(error: Error): void;
}

/** Two connections to one address: 0 for requests, 1 for fetches, which may block. */
export interface ConnectionPool {
  readonly pool: readonly Connection[];
  getConnection(index: 0 | 1): Promise<Connection>;
}

export interface LibraryBroker {
  connect(): Promise<void>;
  lookupRequest(apiKey: number, definition: unknown): (args: unknown) => Protocol;
}

interface SocketRequest {
  readonly host: string;
  readonly port: number;
  readonly ssl: ConnectionOptions | null;
  readonly onConnect: () => void;
}

interface PoolOptions {
  readonly host: string;
  readonly port: number;
  readonly rack: null;
  readonly clientId: string;
  readonly logger: unknown;
  readonly socketFactory: (request: SocketRequest) => Socket;
  readonly ssl: ConnectionOptions | null;
  readonly sasl: object | null;
  readonly connectionTimeout: number;
  readonly requestTimeout: number;
}

type Constructor<T> = new (options: object) => T;

const require = createRequire(import.meta.url);

export const apiKeys = require("kafkajs/src/protocol/requests/apiKeys") as Readonly<Record<string, number>>;
export const requests = (
  require("kafkajs/src/protocol/requests") as { readonly requests: Readonly<Record<string, unknown>> }
).requests;
export const createErrorFromCode = (
  require("kafkajs/src/protocol/error") as {
    readonly createErrorFromCode: (code: number) => Error & { readonly type: string };
  }
).createErrorFromCode;
export const openSocket = (
  require("kafkajs/src/network/socketFactory") as () => (request: SocketRequest) => Socket
)();

const Broker = require("kafkajs/src/broker") as Constructor<LibraryBroker>;
const Pool = require("kafkajs/src/network/connectionPool") as Constructor<ConnectionPool>;
const { createLogger } = require("kafkajs/src/loggers") as {
  readonly createLogger: (options: object) => unknown;
};

/** The library's errors contain all that its log does. */
const silent = createLogger({ level: 0, logCreator: () => () => undefined });

export function createPool(options: Omit<PoolOptions, "logger">): ConnectionPool {
  return new Pool({ ...options, logger: silent });
}

export function createBroker(connectionPool: ConnectionPool, authenticationTimeout: number): LibraryBroker {
  return new Broker({ connectionPool, authenticationTimeout, logger: silent, allowAutoTopicCreation: false });
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

/**
 * Skips the request queue's timer if no request waits. After each answer, the library sets a timer in the
 * past that repeats for ever: once a millisecond per connection, with a TimeoutNegativeWarning.
 */
function tameRequestQueue(): void {
  const { prototype } = require("kafkajs/src/network/requestQueue") as { readonly prototype: RequestQueue };
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}

tameRequestQueue();
