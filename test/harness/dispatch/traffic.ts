import { codeOf } from "@isochrone/primitives";
import { connect } from "node:net";

const HOST = "127.0.0.1";
const BODY = "body";
/** Timeout of a request. */
const MOST_MS = 30_000;

/** A request and its response. Times are from performance.now(). */
export interface Exchange {
  readonly id: string;
  readonly method: "GET" | "POST";
  /** Index of the dispatcher. Null: none accepted the connection. */
  readonly through: number | null;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly answers: number;
  /** Status of one complete response with the request's own body. Null: none. */
  readonly status: number | null;
}

/** Sends until stopped, in turn through all dispatchers. Skips dispatchers that refuse connections. */
export class Traffic {
  readonly #ports: readonly number[];
  readonly #host: string;
  readonly #notReady = new Set<number>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #exchanges: Exchange[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #beganMs = performance.now();
  #sent = 0;

  constructor(ports: readonly number[], host: string, perSecond: number) {
    this.#ports = ports;
    this.#host = host;
    this.#timer = setInterval(() => {
      const due = ((performance.now() - this.#beganMs) / 1_000) * perSecond;
      while (this.#sent < due) this.#send(this.#sent++);
    }, 5);
  }

  setReady(index: number, isReady: boolean): void {
    if (isReady) this.#notReady.delete(index);
    else this.#notReady.add(index);
  }

  async stop(): Promise<readonly Exchange[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
    return this.#exchanges;
  }

  #send(count: number): void {
    const sent = this.#exchange(count)
      .then((exchange) => this.#exchanges.push(exchange))
      .finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
  }

  async #exchange(count: number): Promise<Exchange> {
    const id = `id-${count}`;
    const method = count % 2 === 0 ? "GET" : "POST";
    const beganMs = performance.now();
    const length = method === "POST" ? `content-length: ${BODY.length}\r\n` : "";
    const head = `${method} / HTTP/1.1\r\nhost: ${this.#host}\r\nx-id: ${id}\r\nconnection: close\r\n${length}\r\n`;
    let text: string | null = null;
    let through: number | null = null;
    for (let turn = 0; text === null && turn < this.#ports.length; turn++) {
      through = (Math.floor(count / 2) + turn) % this.#ports.length;
      if (this.#notReady.has(through)) continue;
      text = await received(this.#ports[through]!, head + (method === "POST" ? BODY : ""));
    }
    return {
      id,
      method,
      through: text === null ? null : through,
      beganMs,
      endedMs: performance.now(),
      ...answerOf(text ?? "", id),
    };
  }
}

/** The dispatcher's own responses are complete as well. */
function answerOf(text: string, id: string): Pick<Exchange, "answers" | "status"> {
  const answers = [...text.matchAll(/HTTP\/1\.1 \d{3}/g)].length;
  const isWhole = text.endsWith(`\r\n\r\n${id}`) || text.includes("isochrone-reason");
  return { answers, status: isWhole ? statusOf(text) : null };
}

function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
}

/** Returns all bytes until the connection closes. Returns null without a connection. */
function received(port: number, sent: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST, () => socket.write(sent));
    let text = "";
    let isRefused = false;
    socket.setTimeout(MOST_MS, () => socket.destroy());
    socket.on("data", (data: Buffer) => (text += data.toString()));
    socket.on("error", (error) => (isRefused ||= codeOf(error) === "ECONNREFUSED"));
    socket.once("close", () => resolve(isRefused ? null : text));
  });
}
