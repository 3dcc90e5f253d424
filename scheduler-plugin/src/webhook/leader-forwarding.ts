// Forwards pod reviews to the leader, which alone knows its promises.
import { Agent, request as httpsRequest } from "node:https";
import { checkServerIdentity } from "node:tls";
import { pathOf } from "./registration.ts";
import type { ReviewPath } from "./gate-rules.ts";

export const FORWARDED = "isochrone-forwarded";

interface LeaderForwardingOptions {
  readonly leader: () => string | null;
  readonly trusted: () => string | null;
  readonly serverName: string;
  readonly monotonicMs: () => number;
}

/** The API server waits too; without an answer the pod waits for its plan. */
const WITHIN_MS = 200;
/** Nothing is forwarded this long after a failure, so that a hanging leader doesn't delay every pod. */
const PAUSE_MS = 1_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 32;

export class LeaderForwarding {
  readonly #options: LeaderForwardingOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  #pausedUntilMs = -Infinity;

  constructor(options: LeaderForwardingOptions) {
    this.#options = options;
  }

  /** The leader's answer; null if there is none in time. Never rejects. */
  async ask(entry: ReviewPath, body: string): Promise<string | null> {
    const { leader, trusted, monotonicMs } = this.#options;
    const [url, ca] = [leader(), trusted()];
    if (url === null || ca === null || monotonicMs() < this.#pausedUntilMs) return null;
    try {
      return await this.#post(new URL(pathOf(entry), url), ca, body);
    } catch {
      this.#pausedUntilMs = monotonicMs() + PAUSE_MS;
      return null;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(url: URL, ca: string, body: string): Promise<string> {
    const { serverName } = this.#options;
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      [FORWARDED]: "true",
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        url,
        {
          method: "POST",
          agent: this.#agent,
          headers,
          ca,
          checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
          signal: AbortSignal.timeout(WITHIN_MS),
        },
        (response) => {
          response.setEncoding("utf8");
          let text = "";
          response.on("data", (part: string) => {
            text += part;
            if (text.length > MAX_ANSWER_BYTES) request.destroy(new Error("the answer is too long"));
          });
          response.on("end", () =>
            response.statusCode === 200
              ? resolve(text)
              : reject(new Error(`the leader answered ${response.statusCode}`)),
          );
          response.on("error", reject);
        },
      );
      request.on("error", reject);
      request.end(body);
    });
  }
}
