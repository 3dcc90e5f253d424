// A plain API server client, so that tests don't judge our adapter by itself.
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

export type Credentials =
  | { readonly token: string }
  | { readonly certificate: string; readonly key: string }
  | Record<string, never>;

export interface RequestSettings {
  /** @default application/json; with PATCH application/merge-patch+json */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default 60,000 */
  readonly timeoutMs?: number;
}

interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

export class ApiError extends Error {
  readonly code: number;
  readonly body: unknown;

  constructor(call: string, code: number, body: unknown) {
    const { message } = (typeof body === "object" ? body : { message: body }) as { message?: string };
    super(`${call} answered ${code}: ${message?.slice(0, 1000)}`);
    this.code = code;
    this.body = body;
  }
}

const TIMEOUT_MS = 60_000;
const CONNECTIONS = 16;

export class ApiClient {
  readonly url: string;
  readonly #ca: string;
  readonly #credentials: Credentials;
  readonly #agent: Agent;

  /** @param ca PEM */
  constructor(url: string, ca: string, credentials: Credentials) {
    this.url = url;
    this.#ca = ca;
    this.#credentials = credentials;
    this.#agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ...this.#tls() });
  }

  /** Returns the response object, or text if it is not JSON. @throws ApiError */
  async request<T>(
    method: string,
    path: string,
    body?: unknown,
    settings: RequestSettings | string = {},
  ): Promise<T> {
    const chosen = typeof settings === "string" ? { contentType: settings } : settings;
    const { code, headers, text } = await this.answer(method, path, body, chosen);
    const isJson = headers["content-type"]?.startsWith("application/json") === true;
    const content = isJson ? (JSON.parse(text) as unknown) : text;
    if (code >= 300) throw new ApiError(`${method} ${path}`, code, content);
    return content as T;
  }

  /** Returns any response. Rejects on a timeout. */
  async answer(
    method: string,
    path: string,
    body?: unknown,
    settings: RequestSettings = {},
  ): Promise<Answer> {
    const { timeoutMs = TIMEOUT_MS } = settings;
    const payload = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
    const headers: OutgoingHttpHeaders = { accept: "application/json", ...settings.headers };
    if (payload !== "") {
      headers["content-type"] = settings.contentType ?? defaultContentType(method);
      headers["content-length"] = Buffer.byteLength(payload);
    }
    const options = { agent: this.#agent, signal: AbortSignal.timeout(timeoutMs) };
    const response = await this.#send(method, path, headers, payload, options);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return {
      code: response.statusCode ?? 0,
      headers: response.headers,
      text: Buffer.concat(chunks).toString(),
    };
  }

  /** Yields lines until the signal or the server ends the response. @throws ApiError */
  async *lines(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const headers = { accept: "application/json" };
    // Uses its own connection, because a test may cut it.
    const response = await this.#send("GET", path, headers, "", { agent: false, signal, ...this.#tls() });
    response.setEncoding("utf8");
    let rest = "";
    for await (const chunk of response) {
      const lines = (rest + (chunk as string)).split("\n");
      rest = lines.pop()!;
      if ((response.statusCode ?? 0) < 300) yield* lines;
    }
    if ((response.statusCode ?? 0) >= 300) throw new ApiError(`GET ${path}`, response.statusCode ?? 0, rest);
  }

  /** Withholds the request's body until the server times out or the call is aborted. */
  async linger(path: string, signal: AbortSignal): Promise<void> {
    const headers = { "content-type": "application/json", "content-length": 2 };
    const sent = httpsRequest(new URL(path, this.url), {
      method: "POST",
      headers,
      agent: false,
      signal,
      ...this.#tls(),
    });
    sent.flushHeaders();
    await new Promise<void>((resolve) => {
      sent.on("error", () => resolve());
      sent.on("response", (response) => {
        response.resume();
        response.on("close", resolve);
      });
    });
    sent.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    payload: string,
    options: RequestOptions,
  ): Promise<IncomingMessage> {
    const token = "token" in this.#credentials ? this.#credentials.token : null;
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(
        new URL(path, this.url),
        { method, headers: { ...headers, ...authorization }, ...options },
        resolve,
      );
      sent.on("error", (error: NodeJS.ErrnoException) => {
        // The server closed an idle connection before it saw this request.
        if (error.code === "ECONNRESET" && sent.reusedSocket)
          resolve(this.#send(method, path, headers, payload, options));
        else reject(new Error(`${method} ${path}: ${error.message}`, { cause: error }));
      });
      sent.end(payload);
    });
  }

  #tls(): { ca: string; cert?: string; key?: string } {
    if (!("certificate" in this.#credentials)) return { ca: this.#ca };
    const { certificate, key } = this.#credentials as { certificate: string; key: string };
    return { ca: this.#ca, cert: certificate, key };
  }
}

function defaultContentType(method: string): string {
  return method === "PATCH" ? "application/merge-patch+json" : "application/json";
}
