// A TCP proxy between client and API server that injects network faults. TLS passes through unread.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface CutProxyOptions {
  /** Interval of connection cuts, ms. @default never */
  readonly cutEveryMs?: number;
  /** Delay from server to client, ms. @default 0 */
  readonly delayMs?: number;
}

export class CutProxy {
  readonly url: string;
  delayMs: number;
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

  get connections(): number {
    return this.#pairs.size;
  }

  cut(): number {
    const cut = this.#pairs.size;
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
    this.#pairs.clear();
    return cut;
  }

  /** @param intervalMs null stops the cuts */
  cutEvery(intervalMs: number | null): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = intervalMs === null ? null : setInterval(() => this.cut(), intervalMs).unref();
  }

  /** Keeps connections but passes no data until `thaw`. */
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
      // Keeps the order of data when the delay changes.
      sent = sent.then(() => until(dueMs)).then(() => void client.write(chunk));
    });
    if (this.#frozen) for (const socket of pair) socket.pause();
  }
}

async function until(dueMs: number): Promise<void> {
  const leftMs = dueMs - performance.now();
  if (leftMs > 0) await sleep(leftMs);
}
