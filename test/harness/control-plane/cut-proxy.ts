// A TCP proxy between a client and the API server that does to connections what bad networks do. TLS passes
// through it unread.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface CutProxyOptions {
  /** Cuts all connections this often. @default never */
  readonly cutEveryMs?: number;
  /** Added to whatever goes from the server to the client. @default 0 */
  readonly delayMs?: number;
}

export class CutProxy {
  readonly url: string;
  /** Milliseconds that what the server says is late. */
  delayMs: number;
  /** New connections are reset at once, as by a machine whose server is away. */
  refusing = false;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #timer: NodeJS.Timeout | null = null;
  #frozen = false;

  static async start(targetPort: number, options: CutProxyOptions): Promise<CutProxy> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new CutProxy(server, targetPort, options);
  }

  private constructor(server: Server, targetPort: number, { cutEveryMs, delayMs = 0 }: CutProxyOptions) {
    this.#server = server;
    this.delayMs = delayMs;
    this.url = `https://127.0.0.1:${(server.address() as { port: number }).port}`;
    server.unref();
    server.on("connection", (client) => this.#join(client, targetPort));
    if (cutEveryMs !== undefined) this.cutEvery(cutEveryMs);
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Resets every connection. Returns how many there were. */
  cut(): number {
    const cut = this.#pairs.size;
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
    this.#pairs.clear();
    return cut;
  }

  /** @param intervalMs null: no more */
  cutEvery(intervalMs: number | null): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = intervalMs === null ? null : setInterval(() => this.cut(), intervalMs).unref();
  }

  /** Connections stay, nothing comes through, until `thaw`. */
  freeze(): void {
    this.#frozen = true;
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const pair of this.#pairs) for (const socket of pair) socket.resume();
  }

  close(): void {
    this.cutEvery(null);
    this.#server.close();
    this.cut();
  }

  #join(client: Socket, targetPort: number): void {
    if (this.refusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect(targetPort, "127.0.0.1");
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => server.write(chunk));
    let sent = Promise.resolve();
    server.on("data", (chunk: Buffer) => {
      const dueMs = performance.now() + this.delayMs;
      // One after the other, whatever the delay becomes.
      sent = sent.then(() => until(dueMs)).then(() => void client.write(chunk));
    });
    if (this.#frozen) for (const socket of pair) socket.pause();
  }
}

async function until(dueMs: number): Promise<void> {
  const leftMs = dueMs - performance.now();
  if (leftMs > 0) await sleep(leftMs);
}
