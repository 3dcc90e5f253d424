import { MetricsDecoder, type MetricsVisitor } from "@isochrone/telemetry";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import type { BenchPage } from "./pages.ts";

const CONTENT_TYPES = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
} as const;

export interface PackedPage {
  readonly body: Uint8Array;
  readonly contentType: string;
  /** Uncompressed. */
  readonly bytes: number;
}

export function packed({ text, format }: BenchPage): PackedPage {
  return { body: gzipSync(text), contentType: CONTENT_TYPES[format], bytes: Buffer.byteLength(text) };
}

/** Serves a sequence of pages, each once, and receives the scraper's OTLP/HTTP output. */
export class PageServer {
  readonly #pages: readonly PackedPage[];
  readonly #server = createServer();
  readonly #bodies: Uint8Array[] = [];
  readonly #waiting = new Map<number, () => void>();
  asked = 0;

  constructor(pages: readonly PackedPage[]) {
    this.#pages = pages;
    this.#server.on("request", (request, response) => {
      if (request.method === "POST") {
        void this.#take(request, response);
        return;
      }
      const { body, contentType } = this.#pages[Math.min(this.asked, this.#pages.length - 1)]!;
      response
        .writeHead(200, {
          "content-type": contentType,
          "content-encoding": "gzip",
          "content-length": body.length,
        })
        .end(body);
      this.#waiting.get(this.asked++)?.();
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    this.#bodies.push(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when page `index` is requested. Earlier pages are processed by then. */
  untilAsked(index: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(index, resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  get points(): number {
    let points = 0;
    const count = (): void => void points++;
    const visitor: MetricsVisitor = {
      number: ({ name }) => {
        // The Collector adds metrics about the scrape itself.
        if (!/^(up|scrape_)/.test(name)) points++;
      },
      histogram: count,
      exponentialHistogram: count,
      refused: () => undefined,
    };
    const decoder = new MetricsDecoder();
    for (const body of this.#bodies) decoder.decode(body, visitor);
    return points;
  }
}
